"""A tour: a lake that DuckDB makes is queried on Spark, now and as it was before.

Run it with `make demo`. Everything happens in a temporary folder and is gone afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import duckdb_extensions
from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table

import quacklake as ql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONSOLE = Console(highlight=False)

LIFE = """\
CREATE TABLE sightings (
    id BIGINT, pond VARCHAR, species VARCHAR, seen DATE, grams DECIMAL(8, 1));
ALTER TABLE sightings SET PARTITIONED BY (pond);
INSERT INTO sightings
    SELECT i, ['north', 'south', 'west'][1 + i % 3],
           ['mallard', 'teal', 'wigeon', 'smew'][1 + i % 4],
           DATE '2026-01-01' + (i % 90)::INT, 400 + i % 700
    FROM range(30000) t(i);
DELETE FROM sightings WHERE species = 'smew' AND pond = 'west';
ALTER TABLE sightings RENAME COLUMN grams TO weight;
ALTER TABLE sightings ADD COLUMN observer VARCHAR DEFAULT 'nobody';
INSERT INTO sightings
    VALUES (30000, 'north', 'smew', DATE '2026-04-01', 655.5, 'Ada');"""
"""What happens to the lake, one statement and one snapshot at a time."""

FIRST, LAST = 3, 7
"""The snapshots right after the big insert and after everything."""


def main() -> int:
    """Run every step of the tour; return the exit code."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        CONSOLE.print("Spark needs Java 17 or newer: sudo apt-get install openjdk-17-jre-headless")
        return 1
    with tempfile.TemporaryDirectory(prefix="quacklake-demo-") as name:
        folder = Path(name)
        make_lake(folder)
        with start_spark(folder) as spark, open_lake(folder, spark) as session:
            for step in (show_table, query, travel, explain):
                step(session)
    return 0


def make_lake(folder: Path) -> None:
    """Let DuckDB make a lake: a SQLite file for the catalog, Parquet files for the rows."""
    say("DuckDB makes a lake", "its ducklake extension, a SQLite catalog, seven statements")
    with duckdb.connect(config={"extension_directory": str(folder / "extensions")}) as con:
        for extension in ("ducklake", "sqlite"):
            duckdb_extensions.import_extension(extension, con=con)
            con.execute(f"LOAD {extension}")
        con.execute(
            f"ATTACH 'ducklake:sqlite:{folder / 'lake.db'}' AS lake"
            f" (DATA_PATH '{folder / 'data'}/', DATA_INLINING_ROW_LIMIT 10)"
        )
        con.execute("USE lake")
        for statement in LIFE.split(";\n"):
            con.execute(statement).fetchall()
    CONSOLE.print(Padding(Syntax(LIFE, "sql", background_color="default"), (0, 2)))


@contextlib.contextmanager
def start_spark(folder: Path) -> Iterator[SparkSession]:
    """A quiet Spark in local mode; what Java has to say goes to a file and is shown only when Spark does not start."""
    from pyspark.sql import SparkSession

    say("Spark starts", "local mode, two threads")
    started = time.perf_counter()
    log = folder / "spark.log"
    try:
        with stderr_to(log):
            spark = (
                SparkSession.builder.master("local[2]")
                .appName("quacklake demo")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", 2)
                .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
                .config("spark.ui.enabled", False)
                .config("spark.ui.showConsoleProgress", False)
                .getOrCreate()
            )
    except Exception:
        CONSOLE.print(log.read_text(), markup=False)
        raise
    CONSOLE.print(f"  Spark {spark.version} after {time.perf_counter() - started:.1f} s")
    try:
        yield spark
    finally:
        spark.stop()


def open_lake(folder: Path, spark: SparkSession) -> ql.Session:
    """Open the lake with Quacklake."""
    say("Quacklake opens it", 'ql.connect("sqlite:///lake.db", engine="spark")')
    return ql.connect(f"sqlite:///{folder / 'lake.db'}", engine="spark", spark=spark, read_only=True)


def show_table(session: ql.Session) -> None:
    """What is in the lake."""
    for name in session.tables():
        table = session.table(name)
        CONSOLE.print(f"  {name}, partitioned by {', '.join(table.partition_by)}")
        columns = Table(box=None, padding=(0, 3, 0, 0))
        for head in ("column", "type"):
            columns.add_column(head, style="cyan" if head == "column" else "")
        for column in table.schema:
            columns.add_row(column.name, str(column.type))
        CONSOLE.print(Padding(columns, (0, 4)))


def query(session: ql.Session) -> None:
    """A query on Spark: the deleted rows are gone, the renamed and the added column are there."""
    say("A query, run by Spark", "session.table('sightings').to_spark().groupBy('species')…")
    with timed():
        print_frame(summarise(session.table("sightings").to_spark(), "weight"))


def travel(session: ql.Session) -> None:
    """The same table at two snapshots."""
    say("Two snapshots", "every statement above was a commit, and each can still be read")
    for snapshot in session.snapshots():
        mark = "[bold]>[/bold]" if snapshot.snapshot_id in (FIRST, LAST) else " "
        CONSOLE.print(f"  {mark} {snapshot.snapshot_id}  [dim]{snapshot.time:%H:%M:%S}[/dim]  {snapshot.changes}")
    for at, weight in ((FIRST, "grams"), (LAST, "weight")):
        table = session.table("sightings", at=at)
        with timed(f"at={at}: {table.scan().count():,} rows, columns {', '.join(table.schema.names)}"):
            smews = table.scan(where="species = 'smew'").to_spark()
            print_frame(summarise(smews, weight))


def explain(session: ql.Session) -> None:
    """What a scan would read, and why the rest is left out."""
    say("The plan", "what a predicate leaves to be read")
    scan = session.table("sightings").scan(columns=["id", "weight"], where="pond = 'north' AND id >= 29000")
    CONSOLE.print(Padding(scan.explain(), (0, 2)), markup=False)
    CONSOLE.print(f"  {scan.count():,} rows")


def summarise(frame: DataFrame, weight: str) -> DataFrame:
    """Rows and mean weight per species."""
    from pyspark.sql import functions as F

    means = frame.groupBy("species").agg(F.count("*").alias("seen"), F.round(F.avg(weight), 1).alias("mean grams"))
    return means.orderBy("species")


def say(title: str, subtitle: str) -> None:
    """The heading of a step."""
    CONSOLE.print(f"\n[bold yellow]{title}[/bold yellow]  [dim]{subtitle}[/dim]")


def print_frame(frame: DataFrame) -> None:
    """A small DataFrame as a table."""
    table = Table(box=None, padding=(0, 3, 0, 0))
    for field in frame.schema:
        table.add_column(field.name, justify="left" if field.dataType.typeName() == "string" else "right")
    for row in frame.collect():
        table.add_row(*(str(value) for value in row))
    CONSOLE.print(Padding(table, (0, 4)))


@contextlib.contextmanager
def timed(what: str = "") -> Iterator[None]:
    """Say how long the block took."""
    if what:
        CONSOLE.print(f"  {what}")
    started = time.perf_counter()
    yield
    CONSOLE.print(f"    [dim]{time.perf_counter() - started:.1f} s[/dim]")


@contextlib.contextmanager
def stderr_to(path: Path) -> Iterator[Any]:
    """Everything that this process and those it starts write to stderr goes to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


if __name__ == "__main__":
    sys.exit(main())
