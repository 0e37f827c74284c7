"""Expressions over columns that are something else in Spark than in the lake."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from quacklake.errors import UnsupportedError
from quacklake.predicates import Expression
from quacklake.predicates.kinds import STRING
from quacklake.predicates.spark import quote_text, render
from quacklake.predicates.tree import Call, Case, Cast, Field, Junction, Lambda, Member, Node, Value, walk
from quacklake.schema import Column
from quacklake.types import Primitive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TEXTS = frozenset(("time", "time_ns", "timetz", "interval", "variant", "geometry", "timestamp_ns"))
"""What is DuckDB's text in Spark, and need not compare as text does."""
_NANOSECONDS = Primitive("timestamp_ns")
_NULL_TESTS = ("isnull", "isnotnull")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "in")


_RAW_TEXTS = "spark.sql.parser.escapedStringLiterals"


def session_sql(spark: SparkSession, expression: Expression) -> str:
    """The expression in the SQL of a session, for columns as this engine gives them.

    Raises:
        UnsupportedError: When the session would misread it, or it would judge the text of a value.
    """
    if spark.conf.get(_RAW_TEXTS) == "true":
        refuse_escapes(expression, _RAW_TEXTS)
    return where_sql(expression)


def where_sql(predicate: Expression) -> str:
    """The predicate in Spark's SQL, for columns as this engine gives them.

    Raises:
        UnsupportedError: When it would judge the text of a value instead of the value.
    """
    return render(_Rewriter(predicate.text).rewrite(predicate.tree))


def refuse_escapes(predicate: Expression, setting: str) -> None:
    """Refuse texts that need a backslash, which a setting of the session makes a letter like any other.

    Raises:
        UnsupportedError: When there is such a text.
    """
    texts = [node.value for node in walk(predicate.tree) if isinstance(node, Value) and isinstance(node.value, str)]
    if any(quote_text(text) != f"'{text}'" for text in texts):
        raise UnsupportedError(
            f"the session has {setting} on, so that it would misread the predicate {predicate.text!r}",
            hint="turn it off, or filter the DataFrame",
        )


class _Rewriter:
    def __init__(self, text: str) -> None:
        self._text = text

    def rewrite(self, node: Node) -> Node:
        match node:
            case Field():
                self._refuse_text(node)
                return node
            case Call(name, (Field(),)) if name in _NULL_TESTS:
                return node
            case Call():
                return replace(node, args=_as_texts(node) or tuple(map(self.rewrite, node.args)))
            case Junction():
                return replace(node, parts=tuple(map(self.rewrite, node.parts)))
            case Cast() | Member():
                return replace(node, node=self.rewrite(node.node))
            case Lambda():
                return replace(node, body=self.rewrite(node.body))
            case Case():
                branches = tuple((self.rewrite(test), self.rewrite(result)) for test, result in node.branches)
                return replace(
                    node, branches=branches, default=None if node.default is None else self.rewrite(node.default)
                )
            case _:
                return node

    def _refuse_text(self, node: Field) -> None:
        texts = [each for each in node.leaf.walk() if _is_text(each)]
        if texts:
            raise UnsupportedError(
                f"Spark has no type for {texts[0].type}, so that the predicate {self._text!r} cannot be run on {node}",
                hint="it can be tested for NULL; or filter the DataFrame, where it is DuckDB's text",
            )


def _is_text(column: Column) -> bool:
    return isinstance(column.type, Primitive) and column.type.name in _TEXTS


def _as_texts(node: Call) -> tuple[Node, ...] | None:
    """The comparison of a timestamp of nanoseconds with constants, as one of texts, which order themselves alike."""
    if node.name not in _COMPARISONS:
        return None
    fields = [each for each in node.args if isinstance(each, Field) and each.leaf.type == _NANOSECONDS]
    moments = [
        each
        for each in node.args
        if isinstance(each, Value) and isinstance(each.value, datetime) and each.value.tzinfo is None
    ]
    if len(fields) != 1 or len(moments) != len(node.args) - 1:
        return None
    return tuple(_text(each) if isinstance(each, Value) else each for each in node.args)


def _text(node: Value) -> Value:
    assert isinstance(node.value, datetime)
    text = node.value.isoformat(" ")
    return Value(text.rstrip("0") if node.value.microsecond else text, STRING)
