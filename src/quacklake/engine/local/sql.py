"""Runs a SELECT with DuckDB: every table is a query that reads its files, put before the statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from quacklake.engine.local.changes import read_changes
from quacklake.engine.local.duckdb_hand import execute
from quacklake.engine.local.groups import group_files, wanted_columns
from quacklake.engine.local.macros import define_macros
from quacklake.engine.local.query import Query as Scan
from quacklake.engine.local.query import build_query
from quacklake.errors import InvalidInputError, StorageError, UnsupportedError
from quacklake.names import quote
from quacklake.plan.changes import ChangePlan
from quacklake.plan.query import Query
from quacklake.plan.scan import ScanPlan
from quacklake.storage.stores import Stores
from quacklake.types import DataType

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_BATCH_ROWS, _FETCHED_ROWS = 122_880, 1024
USER_PARAMETER = "u_"
"""Before the names of parameters that are not our own."""
_WITH = re.compile(r"WITH (RECURSIVE )?", re.IGNORECASE)


class LocalQuery:
    """A SELECT that has been planned; every way out runs it.

    Args:
        query: The SELECT.
        stores: Where the files are.
    """

    def __init__(self, query: Query, stores: Stores) -> None:
        self._stores = stores
        self._scan = Scan()
        self._before: list[str] = []
        self._plans = query.plans()
        self._arguments = query.arguments
        for word, source in query.sources.items():
            self._put(word, source)
        self._text = self._with_sources(query.text)

    def run(self, cursor: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Run it.

        Raises:
            InvalidInputError: When DuckDB refuses the text or a value, in DuckDB's words.
        """
        values = self._arguments
        named = values if isinstance(values, Mapping) else {f"n{number}": value for number, value in enumerate(values)}
        given = {f"{USER_PARAMETER}{name}": value for name, value in named.items()}
        used = set(re.findall(r"\$(\w+)", self._text))
        self._scan.sql = self._text
        self._scan.parameters.update({name: given[name] for name in given.keys() & used})
        with _refusing():
            define_macros(cursor, self._text)
            return execute(cursor, self._scan)

    @property
    def paths(self) -> list[str]:
        """The files that it may read."""
        return [file.path for plan in self._plans for file in plan.files]

    def _put(self, word: str, source: Any) -> None:
        """Put a table or a view before the statement, after those that it reads itself."""
        if isinstance(source, Query):
            for name, each in source.sources.items():
                self._put(f"{word}{name}", each)
            # All at once: the word of one may be part of the new name of another.
            inner = re.compile("|".join(map(re.escape, source.sources)) or "$^")
            text = inner.sub(lambda found: f"{word}{found[0]}", source.text)
            names = f"({', '.join(map(quote, source.columns))})" if source.columns else ""
            # The text of a view may end with a comment.
            self._before.append(f"{word}{names} AS NOT MATERIALIZED ({text}\n)")
        elif isinstance(source, ScanPlan):
            self._before.append(f"{word} AS NOT MATERIALIZED ({self._read(source)})")
        else:
            table = read_changes(source, self._stores).read_all() if isinstance(source, ChangePlan) else source
            self._before.append(f"{word} AS NOT MATERIALIZED (FROM {self._scan.table(table)})")

    def _read(self, plan: ScanPlan) -> str:
        columns = wanted_columns(plan)
        groups = group_files(plan, columns, self._stores)
        text = build_query(plan, groups, columns, _as_it_is, self._scan).sql
        names = ", ".join(f"_o{index} AS {quote(column.name)}" for index, column in enumerate(plan.columns))
        return f"SELECT {names} FROM ({text})"

    def _with_sources(self, text: str) -> str:
        if not self._before:
            return text
        own = _WITH.match(text)
        recursive = own[1] or "" if own is not None else ""
        rest = f", {text[own.end() :]}" if own is not None else f" {text}"
        return f"WITH {recursive}{', '.join(self._before)}{rest}"


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what DuckDB says about a statement into our errors."""
    import duckdb

    try:
        yield
    except duckdb.IOException as error:
        raise StorageError(str(error).splitlines()[0]) from error
    except duckdb.Error as error:
        raise InvalidInputError(str(error).splitlines()[0]) from error


def _as_it_is(type_: DataType, sql: str) -> str:
    return sql


class LocalRows:
    """The rows of a SELECT; every way out runs it."""

    def __init__(self, query: Query, stores: Stores) -> None:
        self._query = query
        self._stores = stores

    def to_arrow(self) -> pa.Table:
        """All of them."""
        import pyarrow as pa

        with self._running() as result:
            reader = result.to_arrow_reader(_BATCH_ROWS)
            with _refusing():
                return pa.Table.from_batches(list(reader), reader.schema)

    def to_frame(self, rename: Callable[[Sequence[str]], Sequence[str]]) -> pa.RecordBatchReader:
        """For a verb of a table, with other names for the columns: a stream that is read once."""
        import pyarrow as pa

        batches = self.to_batches()
        schema = next(batches)
        assert isinstance(schema, pa.Schema)
        fields = [field.with_name(name) for field, name in zip(schema, rename(schema.names), strict=True)]
        other = pa.schema(fields)
        renamed = (pa.RecordBatch.from_arrays(batch.columns, schema=other) for batch in batches)
        return pa.RecordBatchReader.from_batches(other, renamed)

    def to_batches(self) -> Iterator[Any]:
        """The schema, then the rows as they come; the query runs until the last one is taken."""
        with self._running() as result:
            reader = result.to_arrow_reader(_BATCH_ROWS)
            yield reader.schema
            with _refusing():
                yield from reader

    def to_spark(self) -> NoReturn:
        """Not from here."""
        raise UnsupportedError("a query of the local engine as a DataFrame", hint="connect with engine='spark'")

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        with self._running() as result:
            while True:
                with _refusing():
                    rows = result.fetchmany(_FETCHED_ROWS)
                if not rows:
                    return
                yield from rows

    @contextmanager
    def _running(self) -> Iterator[duckdb.DuckDBPyConnection]:
        planned = LocalQuery(self._query, self._stores)
        with self._stores.cursor(*planned.paths) as cursor:
            yield planned.run(cursor)
