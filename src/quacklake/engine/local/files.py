"""Reads files of Parquet, CSV and JSON that are no part of a lake, with DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from quacklake.engine.local.types import duckdb_type
from quacklake.errors import InvalidInputError
from quacklake.names import quote
from quacklake.storage.stores import Stores, duckdb_path
from quacklake.types import DataType, Decimal, Primitive

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.schema import Schema

_READERS = {
    "parquet": "read_parquet(?)",
    # Every value is a text first, so that what a column holds depends on the table and not on the first rows.
    "csv": "read_csv(?, header = true, all_varchar = true, strict_mode = true)",
    "json": "read_json_auto(?, maximum_depth = -1, sample_size = -1)",
}
_BATCH_ROWS = 100_000


def read_file(path: str, kind: str, schema: Schema) -> pa.RecordBatchReader:
    """The rows of a file as a stream.

    Raises:
        InvalidInputError: When it cannot be read, or a text is no value of its column.
    """
    import pyarrow as pa

    batches = _read(path, kind, schema)
    first = next(batches)
    assert isinstance(first, pa.Schema)
    return pa.RecordBatchReader.from_batches(first, batches)


def _read(path: str, kind: str, schema: Schema) -> Iterator[Any]:
    """The schema, then the rows."""
    import duckdb

    stores, plain = Stores(None), duckdb_path(path)
    try:
        with stores.cursor() as cursor:
            found = cursor.execute(f"DESCRIBE SELECT * FROM {_READERS[kind]}", [plain]).fetchall()
            chosen = ", ".join(_column(name, type_, schema) for name, type_, *_ in found)
            reader = cursor.execute(f"SELECT {chosen} FROM {_READERS[kind]}", [plain]).to_arrow_reader(_BATCH_ROWS)
            yield reader.schema
            yield from reader
    except duckdb.Error as error:
        raise InvalidInputError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    finally:
        stores.close()


def _column(name: str, type_: str, schema: Schema) -> str:
    """A column of the file; what is a text there and none in the table is read as what the table has."""
    known = schema.find(name)
    if known is None or type_ != "VARCHAR" or str(known.type) == "varchar":
        return quote(name)
    value, target = quote(name), duckdb_type(known.type)
    exact = _exact_text(known.type)
    if exact is not None:
        # A cast would round.
        wrong = f"error('column ' || {_text(name)} || ' takes no ' || {value})"
        value = f"CASE WHEN {value} IS NULL OR regexp_full_match(trim({value}), {_text(exact)})"
        value += f" THEN {quote(name)} ELSE {wrong} END"
    return f"CAST({value} AS {target}) AS {quote(name)}"


def _exact_text(type_: DataType) -> str | None:
    """What a text of a number looks like that loses nothing."""
    if isinstance(type_, Decimal):
        return rf"[+-]?[0-9]*([.][0-9]{{0,{type_.scale}}}0*)?"
    return "[+-]?[0-9]+" if "int" in str(type_) and isinstance(type_, Primitive) and str(type_) != "interval" else None


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
