"""What a predicate means: Spark's answer, row by row, is the local engine's answer, or there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.predicates import parse_predicate
from quacklake.schema import Column, Schema
from quacklake.types import Primitive
from tests.predicates.cases import CAREFUL, RAISING, REFUSED, SAME, lines
from tests.predicates.rows import SCHEMA, write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    # Spark's client leaves closing its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    write_rows(path)
    return path


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    pyspark = pytest.importorskip("pyspark.sql")
    builder = pyspark.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "1").getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    fresh: SparkSession = session.newSession()
    return fresh


@pytest.fixture(scope="module")
def frame(spark: SparkSession, file: Path) -> DataFrame:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    return spark.read.parquet(str(file))


@pytest.fixture(scope="module")
def local(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    con = duckdb.connect()
    con.execute("SET TimeZone='UTC'")
    con.execute(f"CREATE VIEW rows AS SELECT * FROM read_parquet('{file}')")
    yield con
    con.close()


def _of_spark(frame: DataFrame, conditions: list[str]) -> list[list[bool | None]]:
    named = [f"{condition} AS c{number}" for number, condition in enumerate(conditions)]
    rows = frame.selectExpr("n", *named).orderBy("n").collect()
    return [[row[number + 1] for row in rows] for number in range(len(conditions))]


def _of_local(con: duckdb.DuckDBPyConnection, condition: str) -> list[bool | None]:
    return [row[0] for row in con.execute(f"SELECT {condition} FROM rows ORDER BY n").fetchall()]


def test_spark_reads_a_rendered_predicate_as_it_reads_the_original(frame: DataFrame) -> None:
    texts = [*lines(SAME), *lines(CAREFUL)]
    rendered = _of_spark(frame, [f"({parse_predicate(text, SCHEMA).sql('spark')})" for text in texts])
    original = _of_spark(frame, [f"({text})" for text in texts])
    differing = [text for text, ours, theirs in zip(texts, rendered, original, strict=True) if ours != theirs]
    assert differing == []


@pytest.mark.parametrize("text", lines(REFUSED))
def test_spark_reads_what_only_it_understands_as_it_was_written(text: str, frame: DataFrame) -> None:
    def answer(condition: str) -> object:
        try:
            return _of_spark(frame, [f"({condition})"])
        except Exception as error:  # noqa: BLE001 whatever Spark raises, it must raise for both
            return str(error).split("]")[0]

    assert answer(parse_predicate(text, SCHEMA).sql("spark")) == answer(text)


@pytest.mark.parametrize("text", lines(REFUSED))
def test_what_has_no_translation_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedError, match="the local engine cannot run"):
        parse_predicate(text, SCHEMA).sql("duckdb")


def test_the_local_engine_answers_as_spark_does(frame: DataFrame, local: duckdb.DuckDBPyConnection) -> None:
    texts = lines(SAME)
    wrong: dict[str, Any] = {}
    for text, expected in zip(texts, _of_spark(frame, [f"({text})" for text in texts]), strict=True):
        try:
            found = _of_local(local, parse_predicate(text, SCHEMA).sql("duckdb"))
        except (UnsupportedError, InvalidInputError, duckdb.Error) as error:
            wrong[text] = f"{type(error).__name__}: {error}"
            continue
        if found != expected:
            at = next(number for number, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1])
            wrong[text] = f"row {at}: {found[at]}, in Spark {expected[at]}"
    assert wrong == {}


def test_filters_keep_the_same_rows_when_files_are_skipped_inside(
    frame: DataFrame, local: duckdb.DuckDBPyConnection
) -> None:
    wrong = []
    for text in lines(SAME):
        condition = parse_predicate(text, SCHEMA).sql("duckdb")
        tested = {number for number, hit in enumerate(_of_local(local, condition)) if hit}
        kept = {row[0] for row in local.execute(f"SELECT n FROM rows WHERE {condition}").fetchall()}
        if tested != kept:
            wrong.append(text)
    assert wrong == []


@pytest.mark.parametrize("text", lines(RAISING))
def test_what_raises_in_spark_raises_here(text: str, frame: DataFrame, local: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 any error of Spark's will do
        _of_spark(frame, [f"({text})"])
    with pytest.raises((InvalidInputError, UnsupportedError, duckdb.Error)):
        _of_local(local, parse_predicate(text, SCHEMA).sql("duckdb"))


@pytest.mark.parametrize("text", lines(CAREFUL))
def test_what_would_differ_for_a_row_raises_here(text: str, local: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match="changes differently in Spark"):
        _of_local(local, parse_predicate(text, SCHEMA).sql("duckdb"))


def test_a_number_beyond_every_integer_says_nothing_about_null(
    frame: DataFrame, local: duckdb.DuckDBPyConnection
) -> None:
    # Spark turns the comparison into `true` for NULL as well, unless the column is cast first.
    predicate = parse_predicate("b < 9223372036854775808", SCHEMA)
    (found,) = _of_spark(frame, [predicate.sql("spark")])
    assert None in found
    assert found == _of_local(local, predicate.sql("duckdb"))


def test_case_changes_alike_for_every_character_or_raises(
    spark: SparkSession, local: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path, folder = tmp_path / "characters.parquet", tmp_path / "changed"
    local.execute(
        f"""COPY (SELECT c AS n, chr(c::INT) AS s FROM range(1, 1114112) r(c)
        WHERE c NOT BETWEEN 55296 AND 57343) TO '{path}'"""
    )
    spark.read.parquet(str(path)).selectExpr("n", "s", "lower(s) AS low", "upper(s) AS up").write.parquet(str(folder))
    schema = Schema(tuple(Column(number, name, Primitive("varchar")) for number, name in enumerate(("s", "low", "up"))))
    for text in ("lower(s) = low", "upper(s) = up"):
        # What the translation refuses becomes a text with a mark before it, which differs.
        condition = parse_predicate(text, schema).sql("duckdb").replace("error(", "concat('!', ")
        differing = local.execute(
            f"SELECT s FROM (SELECT s, {condition} AS same FROM read_parquet('{folder}/*.parquet')) WHERE NOT same"
        ).fetchall()
        assert len(differing) < 400
        assert [char for (char,) in differing if not _is_refused(local, text, char, schema)] == []


def _is_refused(con: duckdb.DuckDBPyConnection, text: str, char: str, schema: Schema) -> bool:
    condition = parse_predicate(text, schema).sql("duckdb")
    try:
        con.execute(f"SELECT {condition} FROM (SELECT ? AS s, '' AS low, '' AS up)", [char]).fetchall()
    except duckdb.Error:
        return True
    return False
