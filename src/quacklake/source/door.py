"""The format `quacklake`, as Spark knows it.

Spark pickles this object, with all options in it, to the Python processes beside its driver, which plan and commit.
What goes from there to tasks has none: a reader has been made by then, and from then on the object forgets them.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from quacklake.source.options import read_options
from quacklake.source.read import BatchReader, load_schema
from quacklake.source.stream_read import StreamReader
from quacklake.source.stream_write import StreamWriter
from quacklake.source.write import BatchWriter


class QuacklakeSource(DataSource):
    """Makes readers and writers of tables."""

    _pinned: int | None = None
    """The snapshot that `load()` saw: whatever is done with the DataFrame, it shows that one."""
    _is_spent = False
    """A reader has been made, and whoever gets this object from now on is a task."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format(…)`."""
        return "quacklake"

    def schema(self) -> StructType:
        """The columns of the table, in Spark's types."""
        self._pinned, found = load_schema(read_options(self.options, "load"))
        return found

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the table once."""
        self._is_spent = True
        return BatchReader(read_options(self.options, "read"), schema, self._pinned)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """What writes to the table once."""
        return BatchWriter(read_options(self.options, "write"), schema, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What reads the table as it grows."""
        self._is_spent = True
        return StreamReader(read_options(self.options, "stream read"), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """What writes the batches of a stream to the table."""
        return StreamWriter(read_options(self.options, "stream write"), schema, overwrite)

    def __getstate__(self) -> dict[str, Any]:
        return {} if self._is_spent else self.__dict__.copy()
