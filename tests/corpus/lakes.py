"""The corpus: lakes that DuckDB made in its own tests, and what it answered for every table at every snapshot.

It lies beside the repository when it is there at all; `QUACKLAKE_SHARED` names another place.
"""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.differential.feeds import Feed
from tests.lakes import HIDDEN, Answer

SHARED = Path(os.environ.get("QUACKLAKE_SHARED", Path(__file__).parents[3] / "shared"))
ARCHIVE = SHARED / "corpus" / "lakes.tar.xz"
HOME = "/corpus/"
"""Where the lakes were made: their catalogs hold paths that start so."""


@dataclass(frozen=True, slots=True)
class CorpusLake:
    """One lake of the corpus, unpacked."""

    url: str
    data_path: str
    answers: tuple[Answer, ...]


@functools.cache
def lake_names() -> tuple[str, ...]:
    """The names of all lakes; none when there is no corpus."""
    if not ARCHIVE.exists():
        return ()
    with tarfile.open(ARCHIVE) as archive:
        return tuple(sorted({name.split("/")[1] for name in archive.getnames() if name.endswith("/manifest.json")}))


def unpack(folder: Path) -> Path:
    """Unpack the corpus, and let paths in the catalogs point to where it is now."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    root = folder / HOME.strip("/")
    for catalog in root.glob("*/*.db"):
        with sqlite3.connect(catalog) as database:
            for table in ("ducklake_data_file", "ducklake_delete_file"):
                change = f"UPDATE {table} SET path = replace(path, ?, ?) WHERE path_is_relative = 0"
                database.execute(change, (HOME, f"{root}/"))
                # One file was added by a path relative to the folder in which DuckDB's tests ran.
                database.execute(change, ("data/parquet/", f"{SHARED}/golden/parquet/"))
        database.close()
    return root


def read_lakes(folder: Path) -> Iterator[CorpusLake]:
    """The lakes of one test of DuckDB; most have one."""
    root = folder.parent
    for lake in json.loads((folder / "manifest.json").read_text())["lakes"]:
        found = tuple(
            _answer(folder, snapshot["id"], entry)
            for snapshot in lake["snapshots"]
            for entry in snapshot["tables"].values()
            if "error" not in entry and not entry.get("big")
        )
        data_path = lake["data_path"].replace(HOME, f"{root}/", 1)
        yield CorpusLake(f"{lake['backend']}:///{folder / lake['catalog_rel']}", data_path, found)


def _answer(folder: Path, snapshot: int, entry: dict[str, Any]) -> Answer:
    expected = json.loads((folder / "expected" / f"{entry['ref']}.json").read_text(errors="surrogatepass"))
    columns, types = tuple(expected["columns"][2:]), tuple(expected["types"][2:])
    shows_ids = not set(HIDDEN) & {column.lower() for column in columns}
    rows = Counter(tuple(row if shows_ids else row[2:]) for row in expected["rows"])
    return Answer(snapshot, entry["schema"], entry["table"], columns, types, rows, shows_ids)


def read_feeds(folder: Path, lake: dict[str, Any]) -> tuple[str, str, list[tuple[Feed, int]]]:
    """Where a lake is, and what DuckDB told of the whole life of its tables, each with the id of the table."""
    found = []
    for name, entry in lake.get("changes", {}).items():
        if "file" not in entry:
            continue
        told = json.loads((folder / "expected" / entry["file"]).read_text(errors="surrogatepass"))
        shown = next(each["tables"].get(name) for each in lake["snapshots"] if each["id"] == told["to"])
        if shown is None or "types" not in shown:
            continue
        types = ("BIGINT", "BIGINT", "VARCHAR", *shown["types"])
        rows = Counter(tuple(row) for row in told["rows"])
        feed = Feed(shown["schema"], shown["table"], told["from"], told["to"], types, rows)
        found.append((feed, shown["table_id"]))
    data_path = lake["data_path"].replace(HOME, f"{folder.parent}/", 1)
    return f"{lake['backend']}:///{folder / lake['catalog_rel']}", data_path, found
