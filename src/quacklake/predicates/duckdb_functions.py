"""The functions that the local engine knows: how each is said in DuckDB so that it gives what Spark gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from quacklake.predicates.duckdb_casts import cast_sql, duckdb_type, quote_text
from quacklake.predicates.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    FLOATS,
    INT,
    INTEGERS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    is_numeric,
    is_temporal,
)
from quacklake.predicates.literals import Malformed
from quacklake.predicates.regex import check_like, translate_regex
from quacklake.predicates.tree import Call, Field, Node, Value
from quacklake.types import ListOf, MapOf, is_nested

if TYPE_CHECKING:
    from quacklake.predicates.duckdb import Translator

Writer = Callable[["Translator", Call], str]

# Characters whose case the two change differently: those with no single counterpart, those that depend on their
# neighbours, and those that came with a newer Unicode.
_LOWER_DIFFERS = r"[\x{3A3}\x{1C89}\x{A7CB}\x{A7CC}\x{A7DA}\x{A7DC}\x{10D50}-\x{10D65}]"
_UPPER_DIFFERS = (
    r"[\x{149}\x{19B}\x{1F0}\x{264}\x{390}\x{3B0}\x{587}\x{1C8A}\x{1E96}-\x{1E9A}\x{1F50}-\x{1FFC}"
    r"\x{A7CD}\x{A7DB}\x{FB00}-\x{FB17}\x{10D70}-\x{10D85}]"
)
# Of these, the ones that Spark turns into plain letters. Among the lower ones there is none.
_UPPER_TO_ASCII = r"[\x{FB00}-\x{FB06}]"


def _text(self: Translator, node: Node, call: Call) -> str:
    """An argument that must be text; Spark would cast others, each in its own way."""
    if node.kind not in (STRING, NULL):
        raise self.unsupported(f"{call.name} of a {node.kind}")
    return self.coerced(node, STRING)


def _need(self: Translator, call: Call, *counts: int) -> None:
    if len(call.args) not in counts:
        raise self.unsupported(f"{call.name} with {len(call.args)} arguments")


def _lower(self: Translator, call: Call) -> str:
    _need(self, call, 1)
    text = _text(self, call.args[0], call)
    return _odd(text, _LOWER_DIFFERS, "lower") + f" ELSE {lower_ascii(text)} END"


def lower_ascii(text: str) -> str:
    """Lower case that is right as far as its ASCII letters go: enough to compare with a text that has no others."""
    return f"lower(replace({text}, '\u0130', 'i\u0307'))"


def _upper(self: Translator, call: Call) -> str:
    _need(self, call, 1)
    text = f"replace({_text(self, call.args[0], call)}, 'ß', 'SS')"
    return _odd(text, _UPPER_DIFFERS, "upper") + f" ELSE upper({text}) END"


def beside_ascii(self: Translator, call: Call) -> str:
    """`lower` or `upper`, to be equal to a text of ASCII or not: what else is in it does not matter."""
    text = _text(self, call.args[0], call)
    if call.name in ("lower", "lcase"):
        return lower_ascii(text)
    text = f"replace({text}, 'ß', 'SS')"
    return _odd(text, _UPPER_TO_ASCII, "upper") + f" ELSE upper({text}) END"


def _odd(text: str, chars: str, name: str) -> str:
    odd = f"error('{name}: a character of this text changes differently in Spark')"
    return f"CASE WHEN regexp_matches({text}, '{chars}') THEN {odd}"


def _length(self: Translator, call: Call) -> str:
    _need(self, call, 1)
    return f"length({_text(self, call.args[0], call)})"


def _trim(self: Translator, call: Call) -> str:
    """Spark trims the space alone; DuckDB every blank of Unicode, unless told what."""
    if len(call.args) == 2:
        # btrim takes the text first, the others the characters.
        chars, text = reversed(call.args) if call.name == "btrim" else call.args
        return f"{call.name.replace('b', '')}({_text(self, text, call)}, {_text(self, chars, call)})"
    _need(self, call, 1)
    return f"{call.name.replace('b', '')}({_text(self, call.args[0], call)}, ' ')"


def _substring(self: Translator, call: Call) -> str:
    """Places count from one, zero is one as well, negative ones count from the end and may begin before the text."""
    _need(self, call, 2, 3)
    text = _text(self, call.args[0], call)
    numbers = [arg.value if isinstance(arg, Value) and isinstance(arg.value, int) else None for arg in call.args[1:]]
    if None in numbers:
        raise self.unsupported(f"{call.name} at a place that is not a constant")
    start, length = numbers[0] or 0, numbers[1] if len(numbers) > 1 else None
    if length is not None and length <= 0:
        return f"left({text}, 0)"
    if start >= 0:
        return f"substring({text}, {max(start, 1)}{'' if length is None else f', {length}'})"
    first = f"(length({text}) - {-start})"
    if length is None:
        return f"substring({text}, greatest({first}, 0) + 1)"
    return f"substring({text}, greatest({first}, 0) + 1, greatest(least({first}, 0) + {length}, 0))"


def _left_right(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    count = call.args[1]
    if not isinstance(count, Value) or not isinstance(count.value, int):
        raise self.unsupported(f"{call.name} of a length that is not a constant")
    return f"{call.name}({_text(self, call.args[0], call)}, {max(count.value, 0)})"


def _concat(self: Translator, call: Call) -> str:
    # DuckDB's concat leaves NULLs out, its || does not.
    return "(" + " || ".join(_text(self, arg, call) for arg in call.args) + ")"


def _plain_texts(name: str, count: int) -> Writer:
    def write(self: Translator, call: Call) -> str:
        _need(self, call, count)
        return f"{name}({', '.join(_text(self, arg, call) for arg in call.args)})"

    return write


def _locate(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    text, part = call.args if call.name == "instr" else reversed(call.args)
    return f"CAST(strpos({_text(self, text, call)}, {_text(self, part, call)}) AS INTEGER)"


def _replace(self: Translator, call: Call) -> str:
    _need(self, call, 2, 3)
    texts = [_text(self, arg, call) for arg in call.args] + ["''"] * (3 - len(call.args))
    return f"replace({', '.join(texts)})"


def _like(self: Translator, call: Call) -> str:
    pattern, escape = call.args[1], call.args[2] if len(call.args) > 2 else Value("\\", STRING)
    text = _text(self, call.args[0], call)
    if not isinstance(pattern, Value) or not isinstance(pattern.value, str) or not isinstance(escape, Value):
        raise self.unsupported(f"{call.name.upper()} with a pattern that is not a constant")
    mark, wanted = str(escape.value), pattern.value
    try:
        check_like(wanted, mark)
    except Malformed as error:
        raise self.invalid(f"{error} in the pattern {wanted!r} escapes nothing") from error
    if call.name == "ilike":
        if not wanted.isascii() or mark.isalpha():
            raise self.unsupported("ILIKE with a pattern of more than ASCII")
        text, wanted = lower_ascii(text), wanted.lower()
    escaped = f" ESCAPE {quote_text(mark)}" if mark in wanted else ""
    return f"({text} LIKE {quote_text(wanted)}{escaped})"


def _rlike(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    pattern = call.args[1]
    if not isinstance(pattern, Value) or not isinstance(pattern.value, str):
        raise self.unsupported("RLIKE with a pattern that is not a constant")
    try:
        translated = translate_regex(pattern.value)
    except Malformed as error:
        raise self.unsupported(f"{error} in the regular expression {pattern.value!r}") from error
    return f"regexp_matches({_text(self, call.args[0], call)}, {quote_text(translated)})"


def _isnan(self: Translator, call: Call) -> str:
    if call.args[0].kind not in FLOATS:
        raise self.unsupported(f"isnan of a {call.args[0].kind}")
    # Of NULL, Spark says no rather than NULL.
    return f"coalesce(isnan({self.sql(call.args[0])}), FALSE)"


def _equal_null(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    return self.sql(Call("<=>", call.args, BOOLEAN))


def _choice(name: str) -> Writer:
    def write(self: Translator, call: Call) -> str:
        if call.kind == UNKNOWN:
            raise self.unsupported(f"{call.name} of values of different types")
        return f"{name}({', '.join(self.coerced(arg, call.kind) for arg in call.args)})"

    return write


def _if(self: Translator, call: Call) -> str:
    if call.kind == UNKNOWN:
        raise self.unsupported("IF over values of different types")
    test, yes, no = call.args
    return (
        f"CASE WHEN {self.condition(test)} THEN {self.coerced(yes, call.kind)} ELSE {self.coerced(no, call.kind)} END"
    )


def _nullif(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    one = self.coerced(call.args[0], call.kind)
    return f"CASE WHEN {self.sql(Call('=', call.args, BOOLEAN))} THEN NULL ELSE {one} END"


def _number(self: Translator, call: Call) -> str:
    _need(self, call, 1)
    arg = call.args[0]
    if not is_numeric(arg.kind) or call.kind == UNKNOWN:
        raise self.unsupported(f"{call.name} of a {arg.kind}")
    value = self.coerced(arg, arg.kind)
    if call.name in ("neg", "abs"):
        return f"(- {value})" if call.name == "neg" else f"abs({value})"
    name = "ceil" if call.name == "ceiling" else call.name
    if arg.kind in INTEGERS:
        return f"CAST({value} AS {duckdb_type(call.kind)})"
    if arg.kind in FLOATS and name == "round":
        return f"round({value})"
    return f"CAST({name}({value}) AS {duckdb_type(call.kind)})"


def _calendar(self: Translator, call: Call) -> str:
    """A field of a date; of a timestamp with zone, as a clock in UTC shows it."""
    _need(self, call, 1)
    arg = call.args[0]
    needs_time = call.name in ("hour", "minute", "second")
    if not is_temporal(arg.kind) or (needs_time and arg.kind == DATE):
        raise self.unsupported(f"{call.name} of a {arg.kind}")
    value = self.coerced(arg, arg.kind)
    if arg.kind == TIMESTAMP:
        value = cast_sql(value, TIMESTAMP, TIMESTAMP_NTZ) or value
    name = "day" if call.name == "dayofmonth" else call.name
    # Sunday is 1 in Spark and 0 in DuckDB; weekday counts from Monday, which is 0.
    if name == "dayofweek":
        return f"CAST(dayofweek({value}) + 1 AS INTEGER)"
    if name == "weekday":
        return f"CAST(isodow({value}) - 1 AS INTEGER)"
    return f"CAST({name}({value}) AS INTEGER)"


def _to_date(self: Translator, call: Call) -> str:
    if len(call.args) != 1:
        raise self.unsupported(f"{call.name} with a format")
    return self.coerced(call.args[0], DATE)


def _date_add(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    day, count = call.args
    if count.kind not in INTEGERS or count.kind == BIGINT:
        raise self.unsupported(f"{call.name} of a {count.kind}")
    return f"({self.coerced(day, DATE)} {'+' if call.name == 'date_add' else '-'} {self.coerced(count, INT)})"


def _datediff(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    end, start = call.args
    return f"CAST(date_diff('day', {self.coerced(start, DATE)}, {self.coerced(end, DATE)}) AS INTEGER)"


def _date_trunc(self: Translator, call: Call) -> str:
    _need(self, call, 2)
    unit, moment = call.args
    word = str(unit.value).lower() if isinstance(unit, Value) else ""
    if word not in ("year", "quarter", "month", "week", "day", "hour", "minute", "second"):
        raise self.unsupported(f"date_trunc to {word!r}")
    if not is_temporal(moment.kind):
        raise self.unsupported(f"date_trunc of a {moment.kind}")
    value = self.coerced(moment, moment.kind)
    local = cast_sql(value, moment.kind, TIMESTAMP_NTZ) or value
    return f"(date_trunc('{word}', {local}) AT TIME ZONE 'UTC')"


def _now(self: Translator, call: Call) -> str:
    _need(self, call, 0)
    return "now()" if call.kind == TIMESTAMP else "CAST(now() AT TIME ZONE 'UTC' AS DATE)"


def _item(self: Translator, call: Call) -> str:
    """`list[0]` is the first and raises beyond the end; `map['k']` gives NULL for a key that is not there."""
    field, index = call.args
    type_ = field.leaf.type if isinstance(field, Field) else None
    if not isinstance(index, Value):
        raise self.unsupported("[] with an index that is not a constant")
    if isinstance(type_, ListOf) and isinstance(index.value, int) and not is_nested(type_.element.type):
        values = self.sql(field)
        if index.value < 0:
            raise self.invalid(f"{index.value} is before the start of the list")
        beyond = f"{values} IS NOT NULL AND len({values}) <= {index.value}"
        return (
            f"CASE WHEN {beyond} THEN error('the list has no item {index.value}') ELSE {values}[{index.value + 1}] END"
        )
    if isinstance(type_, MapOf) and isinstance(index.value, str) and str(type_.key.type) == "varchar":
        return f"{self.sql(field)}[{quote_text(index.value)}]"
    raise self.unsupported(f"[] on a {field.kind}")


def _array_contains(self: Translator, call: Call) -> str:
    """Unlike DuckDB's: not found among NULLs is NULL."""
    _need(self, call, 2)
    field, wanted = call.args
    type_ = field.leaf.type if isinstance(field, Field) else None
    same = isinstance(type_, ListOf) and str(type_.element.type) in ("varchar", "int32", "int64", "boolean", "date")
    if not same or not isinstance(type_, ListOf) or not isinstance(wanted, Value) or wanted.value is None:
        raise self.unsupported("array_contains of anything but a constant in a list of plain values")
    item = Field((type_.element,))
    if wanted.kind != item.kind:
        raise self.unsupported(f"array_contains of a {wanted.kind} in a list of {item.kind}")
    values, value = self.sql(field), self.sql(wanted)
    unsure = f"{values} IS NULL OR len({values}) > list_count({values})"
    return f"CASE WHEN list_contains({values}, {value}) THEN TRUE WHEN {unsure} THEN NULL ELSE FALSE END"


def _size(self: Translator, call: Call) -> str:
    _need(self, call, 1)
    if call.args[0].kind.name not in ("array", "map"):
        raise self.unsupported(f"{call.name} of a {call.args[0].kind}")
    name = "len" if call.args[0].kind.name == "array" else "cardinality"
    return f"CAST({name}({self.sql(call.args[0])}) AS INTEGER)"


def _named(writer: Writer, names: str) -> dict[str, Writer]:
    return dict.fromkeys(names.split(), writer)


FUNCTIONS: Mapping[str, Writer] = {
    **_named(_lower, "lower lcase"),
    **_named(_upper, "upper ucase"),
    **_named(_length, "length len char_length character_length"),
    **_named(_trim, "trim ltrim rtrim btrim"),
    **_named(_substring, "substring substr"),
    **_named(_left_right, "left right"),
    **_named(_concat, "concat ||"),
    "startswith": _plain_texts("starts_with", 2),
    "endswith": _plain_texts("ends_with", 2),
    "contains": _plain_texts("contains", 2),
    **_named(_locate, "instr locate position"),
    "replace": _replace,
    **_named(_like, "like ilike"),
    **_named(_rlike, "rlike regexp regexp_like"),
    "isnan": _isnan,
    "equal_null": _equal_null,
    **_named(_choice("coalesce"), "coalesce ifnull nvl"),
    **_named(_choice("greatest"), "greatest"),
    **_named(_choice("least"), "least"),
    "if": _if,
    "nullif": _nullif,
    **_named(_number, "neg abs floor ceil ceiling round"),
    **_named(_calendar, "year month day dayofmonth hour minute second quarter dayofweek weekday dayofyear weekofyear"),
    **_named(_to_date, "date to_date"),
    **_named(_date_add, "date_add date_sub"),
    **_named(_datediff, "datediff date_diff"),
    "date_trunc": _date_trunc,
    **_named(_now, "current_date curdate current_timestamp now"),
    "[]": _item,
    "array_contains": _array_contains,
    **_named(_size, "size cardinality array_size"),
}
"""By their names in Spark. Everything else is refused on the local engine."""
