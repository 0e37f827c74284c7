"""A tour: a lake is made, loaded, corrected, evolved and queried on Spark, read as it was, and shared with DuckDB.

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
from rich.table import Table

import quacklake as ql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONSOLE = Console(highlight=False)

PONDS, SPECIES = ("north", "south", "west"), ("mallard", "teal", "wigeon", "smew")
LOADED = 2
"""The snapshot right after the first load."""


def main() -> int:
    """Run every step of the tour; return the exit code."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        CONSOLE.print("Spark needs Java 17 or newer: sudo apt-get install openjdk-17-jre-headless")
        return 1
    with tempfile.TemporaryDirectory(prefix="quacklake-demo-") as name:
        folder = Path(name)
        with start_spark(folder) as spark, make_lake(folder, spark) as session:
            for step in (load, correct, evolve, query, follow, travel, explain):
                step(session)
        share(folder)
    return 0


@contextlib.contextmanager
def start_spark(folder: Path) -> Iterator[SparkSession]:
    """A quiet Spark in local mode; what Java has to say goes to a file and is shown only when Spark does not start."""
    from pyspark.sql import SparkSession

    say("Spark starts", "local mode, two threads")
    started = time.perf_counter()
    log = folder / "spark.log"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's tasks run this Python, with its packages.
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


def make_lake(folder: Path, spark: SparkSession) -> ql.Session:
    """A lake: a SQLite file for the catalog, a folder for Parquet files."""
    say("Quacklake makes a lake", 'ql.connect("sqlite:///lake.db", "data/")')
    return ql.connect(f"sqlite:///{folder / 'lake.db'}", f"{folder / 'data'}/", engine="spark", spark=spark)


def load(session: ql.Session) -> None:
    """A table with partitions, and a DataFrame in it."""
    say("A table is made and loaded", "session.create_table(…), table.append(DataFrame)")
    table = session.create_table(
        "sightings",
        "id BIGINT NOT NULL, pond STRING, species STRING, seen DATE, grams DECIMAL(8, 1)",
        partition_by=["pond"],
    )
    frame = session.spark.range(30_000).selectExpr(
        "id",
        f"element_at(array{PONDS}, cast(1 + id % 3 AS INT)) AS pond",
        f"element_at(array{SPECIES}, cast(1 + id % 4 AS INT)) AS species",
        "date_add(DATE '2026-01-01', cast(id % 90 AS INT)) AS seen",
        "cast(400 + id % 700 AS DECIMAL(8, 1)) AS grams",
    )
    with timed():
        report(table.append(frame))


def correct(session: ql.Session) -> None:
    """Late news are merged in: some rows change, some go, some are new."""
    say("It is corrected", "table.merge(DataFrame, on='id', when=[…])")
    news = session.spark.range(29_000, 31_000).selectExpr(
        "id",
        "'north' AS pond",
        "'smew' AS species",
        "DATE '2026-04-01' AS seen",
        "cast(655.5 AS DECIMAL(8, 1)) AS grams",
        "id % 10 = 0 AS is_hoax",
    )
    with timed():
        done = session.table("sightings").merge(
            news,
            on="id",
            when=[
                ql.when_matched(delete=True, where="s.is_hoax"),
                ql.when_matched(update={"grams": "s.grams"}),
                ql.when_not_matched(
                    insert={name: f"s.{name}" for name in ("id", "pond", "species", "seen", "grams")},
                    where="NOT s.is_hoax",
                ),
            ],
        )
        report(done)


def evolve(session: ql.Session) -> None:
    """Several changes in one snapshot: a column gets another name, another is new, old rows get a value."""
    say("It evolves", "with session.transaction(message='…') as tx: …")
    with timed():
        with session.transaction(message="name the observers", author="demo") as tx:
            table = tx.table("sightings")
            table.rename_column("grams", "weight")
            table.add_column("observer", "STRING", default="nobody")
            tx.table("sightings").update({"observer": "'Ada'"}, where="pond = 'west' AND species = 'smew'")
        report(tx.done)


def report(done: ql.Commit) -> None:
    """What a write did."""
    CONSOLE.print(
        f"  snapshot {done.snapshot_id}: {done.rows_inserted:,} inserted, {done.rows_updated:,} updated,"
        f" {done.rows_deleted:,} deleted, {done.files_added} data files written"
    )


def query(session: ql.Session) -> None:
    """SQL, run by Spark, over everything that happened."""
    say("It is queried", "session.sql('SELECT … FROM sightings')")
    with timed():
        found = session.sql(
            """SELECT species, count(*) AS seen, round(avg(weight), 1) AS `mean grams`,
                      count_if(observer = 'Ada') AS `by Ada`
               FROM sightings GROUP BY species ORDER BY species"""
        )
        print_frame(found.to_spark())


def follow(session: ql.Session) -> None:
    """The change feed: what the last two snapshots did, row by row, here counted."""
    say("What changed", "session.sql(\"SELECT … FROM table_changes('sightings', 3, 4)\")")
    with timed():
        found = session.sql(
            """SELECT snapshot_id AS snapshot, change_type AS change, count(*) AS rows,
                      min(id) AS first, max(id) AS last
               FROM table_changes('sightings', 3, 4) GROUP BY ALL ORDER BY snapshot, change"""
        )
        print_frame(found.to_spark())


def travel(session: ql.Session) -> None:
    """The same table at two snapshots."""
    say("Back in time", "every commit can still be read")
    for snapshot in session.snapshots():
        words = f"  [dim]{snapshot.message}[/dim]" if snapshot.message else ""
        CONSOLE.print(f"    {snapshot.snapshot_id}  [dim]{snapshot.time:%H:%M:%S}[/dim]  {snapshot.changes}{words}")
    for at, weight in ((LOADED, "grams"), (session.current_snapshot, "weight")):
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


def share(folder: Path) -> None:
    """DuckDB reads the same lake with its own extension."""
    say("DuckDB reads the same lake", "ATTACH 'ducklake:sqlite:lake.db'")
    with duckdb.connect(config={"extension_directory": str(folder / "extensions")}) as con:
        for extension in ("ducklake", "sqlite"):
            duckdb_extensions.import_extension(extension, con=con)
            con.execute(f"LOAD {extension}")
        con.execute(f"ATTACH 'ducklake:sqlite:{folder / 'lake.db'}' AS lake")
        rows = con.execute(
            "SELECT observer, count(*), round(avg(weight), 1) FROM lake.sightings GROUP BY 1 ORDER BY 1"
        ).fetchall()
    for row in rows:
        CONSOLE.print("    " + "   ".join(str(value) for value in row))


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
