"""Statements that change what a lake consists of: CREATE, DROP, ALTER, COMMENT ON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quacklake.commit.outcome import Commit
from quacklake.ddl.objects import create_view
from quacklake.errors import AlreadyExistsError, InvalidInputError, UnsupportedError
from quacklake.names import TableName, quote, split
from quacklake.sql.changes import Changes
from quacklake.sql.names import Names
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.table import Table
    from quacklake.transaction import Transaction

_NAMESPACE = ("SCHEMA", "DATABASE", "NAMESPACE")
_FORMATS = ("QUACKLAKE", "DUCKLAKE")


@dataclass(frozen=True, slots=True)
class Definitions:
    """Runs statements about namespaces, tables and views.

    Args:
        session: The lake.
        changes: Runs the query of a table that is made from one.
    """

    session: Session | Transaction
    changes: Changes

    def create(self, words: Words) -> Commit:
        """CREATE SCHEMA, TABLE or VIEW."""
        words.expect("CREATE")
        replaces = words.accept("OR", "REPLACE")
        if any(words.accept(word) for word in _NAMESPACE):
            lenient = words.accept("IF", "NOT", "EXISTS")
            name = self._namespace(words.name())
            words.end()
            return self.session.create_namespace(name, if_not_exists=lenient)
        if words.accept("VIEW"):
            return self._create_view(words, replaces)
        if not words.accept("TABLE"):
            raise UnsupportedError(f"{words.start} is not handled", hint="CREATE SCHEMA, TABLE or VIEW")
        return self._create_table(words, replaces)

    def _create_view(self, words: Words, replaces: bool) -> Commit:
        lenient = words.accept("IF", "NOT", "EXISTS")
        name = self._name(words.name())
        columns = [_plain(each) for each in words.listed()] if words.sees("(") else []
        comment = words.string() if words.accept("COMMENT") else None
        words.expect("AS")
        text, names = words.rest(), Names.of(self.session)
        try:
            with self.session._writing_to(name) as tx:
                create_view(tx, name, text, columns=columns, comment=comment, or_replace=replaces, names=names)
            return tx.done
        except AlreadyExistsError:
            if lenient:
                return Commit(None)
            raise

    def _create_table(self, words: Words, replaces: bool) -> Commit:
        lenient = words.accept("IF", "NOT", "EXISTS")
        name = self._name(words.name())
        columns = words.brackets() if words.sees("(") else None
        said = self._properties(words)
        query = words.rest() if words.accept("AS") else None
        words.end()
        if (columns is None) == (query is None):
            raise InvalidInputError(
                f"CREATE TABLE {name} needs columns or a query, one of them",
                hint="write CREATE TABLE t (id BIGINT) or CREATE TABLE t AS SELECT …",
            )
        options: dict[str, Any] = {**said, "if_not_exists": lenient, "or_replace": replaces}
        if query is None:
            with self.session._writing_to(name) as tx:
                tx.create_table(name, columns, **options)
            return tx.done
        with self.changes.together() as (changes, tx):
            if lenient and tx._lake_of(name)._catalog.view(only=TableName.parse(name)).find_table(
                TableName.parse(name)
            ):
                return Commit(None)
            frame = changes.frame(query)
            tx.create_table(name, frame.schema, **options)
            tx.table(name).append(frame)
        return tx.done

    def _properties(self, words: Words) -> dict[str, Any]:
        said: dict[str, Any] = {}
        while not words.is_over and not words.sees("AS"):
            if words.accept("USING"):
                kind = words.one_part()
                if kind.upper() not in _FORMATS:
                    raise UnsupportedError(f"CREATE TABLE … USING {kind}", hint="tables of the lake are Parquet")
            elif words.accept("PARTITIONED", "BY"):
                said["partition_by"] = words.listed()
            elif words.accept("SORTED", "BY"):
                said["sort_by"] = words.listed()
            elif words.accept("COMMENT"):
                said["comment"] = words.string()
            else:
                words.end()
        return said

    def drop(self, words: Words) -> Commit:
        """DROP SCHEMA, TABLE or VIEW."""
        words.expect("DROP")
        kind = next((word for word in (*_NAMESPACE, "TABLE", "VIEW") if words.accept(word)), None)
        if kind is None:
            raise UnsupportedError(f"{words.start} is not handled", hint="DROP SCHEMA, TABLE or VIEW")
        lenient = words.accept("IF", "EXISTS")
        name = words.name()
        cascade = words.accept("CASCADE")
        if not cascade:
            words.accept("RESTRICT")
        words.end()
        if kind in _NAMESPACE:
            return self.session.drop_namespace(self._namespace(name), cascade=cascade, if_exists=lenient)
        drop = self.session.drop_table if kind == "TABLE" else self.session.drop_view
        return drop(self._name(name), if_exists=lenient)

    def comment(self, words: Words) -> Commit:
        """COMMENT ON TABLE, VIEW or COLUMN."""
        words.expect("COMMENT", "ON")
        kind = next((word for word in ("TABLE", "VIEW", "COLUMN") if words.accept(word)), None)
        if kind is None:
            raise words.refusal("TABLE, VIEW or COLUMN")
        name = words.name()
        words.expect("IS")
        text = None if words.accept("NULL") else words.string()
        words.end()
        if kind == "VIEW":
            return self.session.set_view_comment(self._name(name), text)
        if kind == "TABLE":
            return self._table(name).set_comment(text)
        if len(name) < 2:
            raise InvalidInputError(f"{name[0]} is not a column", hint="write COMMENT ON COLUMN t.c IS '…'")
        return self._table(name[:-1]).alter_column(quote(name[-1]), comment=text)

    def alter(self, words: Words) -> Commit:
        """ALTER TABLE and ALTER VIEW … RENAME TO."""
        words.expect("ALTER")
        if words.accept("VIEW"):
            name = self._name(words.name())
            words.expect("RENAME", "TO")
            new = _dotted(words.name())
            words.end()
            return self.session.rename_view(name, new)
        if not words.accept("TABLE"):
            raise UnsupportedError(f"{words.start} is not handled", hint="ALTER TABLE or VIEW")
        table = self._table(words.name())
        act = next((run for start, run in self._actions().items() if words.accept(*start)), None)
        if act is None:
            words.end()
            raise words.refusal("what to alter")
        done: Commit = act(table, words)
        words.end()
        return done

    def _actions(self) -> dict[tuple[str, ...], Any]:
        return {
            ("RENAME", "TO"): lambda table, words: table.rename(_dotted(words.name())),
            ("RENAME", "COLUMN"): _rename_column,
            ("ADD", "COLUMNS"): _add_columns,
            ("ADD", "COLUMN"): _add_columns,
            ("DROP", "COLUMNS"): _drop_columns,
            ("DROP", "COLUMN"): _drop_columns,
            ("ALTER", "COLUMN"): _alter_column,
            ("CHANGE", "COLUMN"): _alter_column,
            ("SET", "PARTITIONED", "BY"): lambda table, words: table.set_partition_by(words.listed()),
            ("RESET", "PARTITIONED", "BY"): lambda table, words: table.set_partition_by([]),
            ("SET", "SORTED", "BY"): lambda table, words: table.set_sort_by(words.listed()),
            ("RESET", "SORTED", "BY"): lambda table, words: table.set_sort_by([]),
        }

    def _namespace(self, parts: Sequence[str]) -> str:
        catalog, namespace = Names.of(self.session).namespace_of(parts)
        return quote(namespace) if catalog is None else f"{quote(catalog)}.{quote(namespace)}"

    def _name(self, parts: Sequence[str]) -> str:
        return str(Names.of(self.session).table(parts))

    def _table(self, name: Sequence[str]) -> Table:
        return self.session.table(self._name(name))


def _rename_column(table: Table, words: Words) -> Commit:
    old = _dotted(words.name())
    words.expect("TO")
    return table.rename_column(old, words.one_part())


def _add_columns(table: Table, words: Words) -> Commit:
    lenient = words.accept("IF", "NOT", "EXISTS")
    texts = words.listed() if words.sees("(") else [words.rest()]
    with table._altering() as tx:
        own = tx.table(table.name)
        for text in texts:
            _add_column(own, text, lenient)
    return tx.done


def _add_column(table: Table, text: str, lenient: bool) -> None:
    words = Words.of(text)
    name = _dotted(words.name())
    type_ = words.until("DEFAULT", "COMMENT", "NOT", "FIRST", "AFTER")
    default = words.until("COMMENT", "NOT", "FIRST", "AFTER") if words.accept("DEFAULT") else None
    comment = words.string() if words.accept("COMMENT") else None
    words.end()
    table.add_column(name, type_, default=_literal(default), comment=comment, if_not_exists=lenient)


def _drop_columns(table: Table, words: Words) -> Commit:
    lenient = words.accept("IF", "EXISTS")
    if words.sees("("):
        names = words.listed()
    else:
        names = [_dotted(words.name())]
        while words.accept(","):
            names.append(_dotted(words.name()))
    with table._altering() as tx:
        own = tx.table(table.name)
        for name in names:
            own.drop_column(name, if_exists=lenient)
    return tx.done


def _alter_column(table: Table, words: Words) -> Commit:
    name = _dotted(words.name())
    if words.accept("SET", "NOT", "NULL"):
        return table.alter_column(name, nullable=False)
    if words.accept("DROP", "NOT", "NULL"):
        return table.alter_column(name, nullable=True)
    if words.accept("SET", "DEFAULT"):
        return table.alter_column(name, default=_literal(words.rest()))
    if words.accept("DROP", "DEFAULT"):
        return table.alter_column(name, default=None)
    if words.accept("COMMENT"):
        return table.alter_column(name, comment=words.string())
    if words.accept("SET", "DATA", "TYPE") or words.accept("TYPE"):
        return table.alter_column(name, type=words.rest())
    raise words.refusal("TYPE, COMMENT, SET NOT NULL, DROP NOT NULL, SET DEFAULT or DROP DEFAULT")


def _literal(text: str | None) -> Any:
    """The value that a literal stands for."""
    if text is None:
        return None
    from sqlglot import exp

    from quacklake.sql.text import parse_expression

    node, _ = parse_expression(text)
    sign = 1
    if isinstance(node, exp.Neg):
        node, sign = node.this, -1
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        node = node.this
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if not isinstance(node, exp.Literal):
        raise UnsupportedError(f"{text} as a default", hint="a default is a literal")
    if node.is_string:
        return node.this
    from decimal import Decimal

    number = Decimal(node.this) * sign
    return int(number) if number == number.to_integral_value() and "." not in node.this else number


def _has_table(lake: Transaction, name: TableName) -> bool:
    return lake._catalog.view(only=name).find_table(name) is not None


def _dotted(name: Sequence[str]) -> str:
    return ".".join(map(quote, name))


def _plain(text: str) -> str:
    (name,) = split(text)
    return name
