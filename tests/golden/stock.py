"""Lakes of old versions, from the test data of DuckLake itself: where they are and how to get a copy."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

from quacklake.catalog.tables import LAYOUT
from tests.lakes import Place, duck, quoted

ROOT = Path(os.environ.get("QUACKLAKE_SHARED") or Path(__file__).parents[3] / "shared") / "golden"

WITH_FILES = "iceberg_deletes/delete_ignore_extra_columns"
"""The one lake whose data files are there."""
NAMES = (
    "old_ducklake/compacted_files",
    "old_ducklake/per_table_schema",
    "old_ducklake/v01",
    "old_ducklake/v01_partitioned",
    "old_ducklake/v02",
    "old_ducklake/v03-dev1",
    "old_ducklake/v03",
    "old_ducklake/v03_types",
    "old_ducklake/v04-dev1",
    "old_ducklake/v04-dev1_types",
    "old_ducklake/v04",
    WITH_FILES,
)


def unpack(name: str, folder: Path, as_: str = "golden.db") -> Path:
    """A copy of a catalog, and of its data files if there are any."""
    target = folder / as_
    with gzip.open(ROOT / f"{name}.db.gz") as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file)
    data = ROOT / name
    if data.is_dir() and not (folder / data.name).exists():
        shutil.copytree(data, folder / data.name)
        for each in (folder / data.name, *(folder / data.name).rglob("*")):
            each.chmod(0o755 if each.is_dir() else 0o644)
    return target


def data_path_of(name: str, folder: Path) -> str:
    """Where the files of a lake are, or would be."""
    return f"{folder / name.rpartition('/')[2]}/"


def copy_to(catalog: Path, place: Place) -> None:
    """Put the tables of a DuckDB catalog into another database, as DuckDB stores them there."""
    target = {"sqlite": "sqlite", "duckdb": "", "postgres": "postgres", "mysql": "mysql"}[place.kind]
    con = duck(*([target] if target else []))
    try:
        con.execute(f"ATTACH '{catalog}' AS old (READ_ONLY)")
        address = place.attach.removeprefix(f"{target}:") if target else place.attach
        con.execute(f"ATTACH '{address}' AS new{f' (TYPE {target})' if target else ''}")
        for (table,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'old'").fetchall():
            con.execute(f"CREATE TABLE new.{quoted(table)} AS FROM old.{quoted(table)}")
    finally:
        con.close()


CURRENT_COLUMNS = {
    f"ducklake_{name}": [word.split(":")[0] for word in layout.split()] for name, layout in LAYOUT.items()
}
