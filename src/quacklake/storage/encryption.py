"""Keys for files that DuckDB encrypts."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from quacklake.errors import MissingExtraError

if TYPE_CHECKING:
    import duckdb


def encryption_option(connection: duckdb.DuckDBPyConnection, key: str) -> str:
    """The option of COPY that encrypts a file.

    Args:
        connection: Where COPY will run. DuckDB itself only decrypts; what encrypts comes with an extension.
        key: In base64, as the catalog stores it.

    Raises:
        MissingExtraError: When that extension is not installed.
    """
    _load_cipher(connection)
    text = "".join(f"\\x{byte:02X}" for byte in base64.b64decode(key))
    return f"ENCRYPTION_CONFIG {{footer_key_value: '{text}'::BLOB}}"


def _load_cipher(connection: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    try:
        connection.execute("LOAD httpfs")
    except duckdb.Error:
        try:
            import duckdb_extensions

            duckdb_extensions.import_extension("httpfs", con=connection)
            connection.execute("LOAD httpfs")
        except (ImportError, OSError, RuntimeError, duckdb.Error) as error:
            raise MissingExtraError(
                "DuckDB's httpfs extension, which encrypts files, is not installed",
                hint="pip install 'quacklake[encryption]'",
            ) from error
