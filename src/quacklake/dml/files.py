"""The rows of a file of another kind, on their way into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quacklake.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.schema import Schema

_ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}


def open_file(path: str, schema: Schema) -> pa.RecordBatchReader:
    """The rows of a file as a stream, for a table.

    Args:
        path: A file of this machine.
        schema: The columns of the table, which say what the texts of a file without types are.

    Raises:
        InvalidInputError: When it cannot be read.
        UnsupportedError: When its ending says no format.
    """
    from pathlib import Path

    from quacklake.engine.local.files import read_file

    plain = path.lower().removesuffix(".gz")
    kind = next((kind for ending, kind in _ENDINGS.items() if plain.endswith(ending)), None)
    if kind is None or (kind == "parquet" and path.lower().endswith(".gz")):
        raise UnsupportedError(f"{path}: the ending says no format", hint=f"there is {', '.join(_ENDINGS)}")
    if not Path(path).is_file():
        raise InvalidInputError(f"{path} is not there", hint="give one file of this machine")
    return read_file(path, kind, schema)
