"""A predicate as DuckDB's SQL, for the local engine: what means the same as in Spark, or a refusal by name.

DuckDB casts, divides and compares by rules of its own. So every operand is brought to the type that Spark would
give it before DuckDB sees the operator, and what raises in Spark raises here. `docs/predicates.md` has the list.
"""

from __future__ import annotations

from collections.abc import Sequence

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import quote
from quacklake.predicates.duckdb_casts import cast_sql, duckdb_type, literal_sql, native_literal
from quacklake.predicates.duckdb_functions import FUNCTIONS, beside_ascii
from quacklake.predicates.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOATS,
    INTEGERS,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    Kind,
    is_decimal,
    is_exact,
    is_temporal,
)
from quacklake.predicates.literals import Malformed, cast_literal
from quacklake.predicates.results import COMPARISONS, digits_of, widest
from quacklake.predicates.tree import (
    Call,
    Case,
    Cast,
    Field,
    Interval,
    Junction,
    Member,
    Node,
    Value,
)
from quacklake.types import Primitive

_WHOLE = frozenset("int8 int16 int32 int64 int128 uint8 uint16 uint32 uint64 uint128".split())
_COMPARABLE = ("boolean", "string", "binary", "date", "timestamp", "timestamp_ntz")


def translate(node: Node, text: str) -> str:
    """The condition in DuckDB's SQL.

    Raises:
        UnsupportedError: When DuckDB has nothing that means just the same.
        InvalidInputError: When Spark would refuse it as well.
    """
    return Translator(text).sql(node)


class Translator:
    """Writes DuckDB's SQL; `text` is the whole predicate, for messages."""

    def __init__(self, text: str) -> None:
        self.text = text

    def unsupported(self, what: str) -> UnsupportedError:
        """The refusal of something that DuckDB would answer differently."""
        return UnsupportedError(
            f"the local engine cannot run {what} of the predicate {self.text!r} as Spark would",
            hint="read through to_spark(), or filter the result",
        )

    def invalid(self, what: str) -> InvalidInputError:
        """The refusal of something that Spark refuses."""
        return InvalidInputError(f"the predicate {self.text!r} cannot be used: {what}")

    def sql(self, node: Node) -> str:
        """The node in the type it has by itself."""
        match node:
            case Field():
                return _field(node)
            case Value():
                return literal_sql(node.value, node.kind)
            case Junction():
                return "(" + f" {node.name.upper()} ".join(map(self.condition, node.parts)) + ")"
            case Call():
                return self._call(node)
            case Cast():
                return self._cast(node)
            case Case():
                return self._case(node)
            case Member():
                raise self.unsupported(f"the field {node.name!r} of an expression")
            case Interval():
                raise self.unsupported("an interval by itself")
            case _:
                raise self.unsupported("a function given to a function")

    def condition(self, node: Node) -> str:
        """The node as a boolean."""
        if node.kind == NULL:
            return "CAST(NULL AS BOOLEAN)"
        if node.kind != BOOLEAN:
            raise self.invalid(f"a {node.kind} stands where a condition is needed")
        return self.sql(node)

    def coerced(self, node: Node, kind: Kind) -> str:
        """The node cast as Spark casts without being asked."""
        if isinstance(node, Value):
            try:
                return literal_sql(cast_literal(node.value, kind), kind)
            except Malformed as error:
                raise self.invalid(f"{error} is malformed") from error
        if node.kind == kind and not (isinstance(node, Field) and _is_foreign(node)):
            return self.sql(node)
        if UNKNOWN in (node.kind, kind):
            raise self.unsupported(self._name(node))
        found = cast_sql(self.sql(node), node.kind, kind)
        if found is None:
            raise self.unsupported(f"the cast of a {node.kind} to {kind}")
        return found

    def operands(self, nodes: Sequence[Node], what: str) -> list[str]:
        """Several nodes in one type: the one that Spark compares them in, or one in which it makes no difference.

        A bare column beside constants stays bare where it can, for only then can DuckDB skip parts of a file.
        """
        for node in nodes:
            if node.kind == UNKNOWN:
                raise self.unsupported(self._name(node))
        if all(map(_is_whole, nodes)):
            return [_whole(node) if isinstance(node, Value) else self.sql(node) for node in nodes]
        if what in ("=", "<>", "<=>", "IN") and _is_case_beside_ascii(nodes):
            return [beside_ascii(self, node) if isinstance(node, Call) else self.sql(node) for node in nodes]
        common = widest(nodes)
        if common == UNKNOWN:
            self._refuse_kinds(nodes, what)
        fields = [node for node in nodes if not isinstance(node, Value)]
        if len(fields) == 1 and isinstance(fields[0], Field):
            bare = self._beside_column(fields[0], nodes, common)
            if bare is not None:
                return bare
        if common.name not in _COMPARABLE and not is_exact(common) and common not in FLOATS:
            raise self.unsupported(f"{what} of {common}")
        return [self.coerced(node, common) for node in nodes]

    def _refuse_kinds(self, nodes: Sequence[Node], what: str) -> None:
        kinds = [node.kind for node in nodes]
        names = " and ".join(dict.fromkeys(map(str, kinds)))
        if all(is_exact(kind) or kind == NULL for kind in kinds):
            raise self.unsupported(f"{what} of {names}, which has more than 38 digits,")
        if Kind("time") in kinds or STRING in kinds:
            raise self.unsupported(f"{what} of {names}")
        raise self.invalid(f"{what} of {names} has no meaning")

    def _beside_column(self, field: Field, nodes: Sequence[Node], common: Kind) -> list[str] | None:
        out = []
        for node in nodes:
            if node is field:
                out.append(_field(field))
                continue
            assert isinstance(node, Value)
            try:
                value = cast_literal(node.value, common)
            except Malformed as error:
                raise self.invalid(f"{error} is malformed") from error
            found = native_literal(value, field.leaf.type)
            if found is None:
                return None
            out.append(found)
        return out

    def _call(self, node: Call) -> str:
        if node.name in COMPARISONS:
            return self._compare(node)
        match node.name:
            case "not":
                return f"(NOT {self.condition(node.args[0])})"
            case "isnull":
                return f"({self.sql(node.args[0])} IS NULL)"
            case "isnotnull":
                return f"({self.sql(node.args[0])} IS NOT NULL)"
            case "istrue" | "isfalse":
                return f"({self.condition(node.args[0])} IS {node.name[2:].upper()})"
            case "in":
                first, *rest = self.operands(node.args, "IN")
                return f"({first} IN ({', '.join(rest)}))"
            case "+" | "-" | "*":
                return self._arithmetic(node)
            case "/" | "%" | "div":
                return self._divide(node)
            case "&" | "|":
                return self._bits(node)
        found = FUNCTIONS.get(node.name)
        if found is None:
            raise self.unsupported(self._name(node))
        return found(self, node)

    def _name(self, node: Node) -> str:
        if isinstance(node, Call):
            return f"{node.name}({', '.join(str(arg.kind) for arg in node.args)})"
        return f"a {node.kind}" if node.kind != UNKNOWN else type(node).__name__.lower()

    def _compare(self, node: Call) -> str:
        left, right = node.args
        if NULL in (left.kind, right.kind):
            if node.name != "<=>":
                return "CAST(NULL AS BOOLEAN)"
            return f"({self.sql(left if right.kind == NULL else right)} IS NULL)"
        one, other = self.operands((left, right), node.name)
        return f"({one} {'IS NOT DISTINCT FROM' if node.name == '<=>' else node.name} {other})"

    def _arithmetic(self, node: Call) -> str:
        left, right = node.args
        if is_temporal(node.kind):
            return self._moved(node)
        if node.kind == UNKNOWN:
            raise self.unsupported(f"{node.name} of {left.kind} and {right.kind}")
        if is_decimal(node.kind) and node.name == "*":
            # DuckDB multiplies in 18 digits when both have no more, and raises when that is too few.
            wide = Kind("decimal", max(digits_of(left).precision, 19), digits_of(left).scale)
            narrow = node.kind.precision <= 19
            one = self.coerced(left, digits_of(left) if narrow else wide)
            other = self.coerced(right, digits_of(right))
        else:
            one, other = self.coerced(left, node.kind), self.coerced(right, node.kind)
        return f"({one} {node.name} {other})"

    def _moved(self, node: Call) -> str:
        """A date or timestamp and an interval, or a number of days."""
        moment, step = node.args
        if isinstance(moment, Interval):
            moment, step = step, moment
        if not isinstance(step, Interval):
            return f"({self.sql(moment)} {node.name} {self.coerced(step, INTEGERS[2])})"
        if node.kind == TIMESTAMP and moment.kind == DATE:
            raise self.unsupported("a date moved by less than a day")
        amount = f"to_{step.unit.lower()}s({step.amount})"
        return f"CAST({self.coerced(moment, moment.kind)} {node.name} {amount} AS {duckdb_type(node.kind)})"

    def _divide(self, node: Call) -> str:
        left, right = node.args
        kind = BIGINT if node.name == "div" else node.kind
        if node.kind == UNKNOWN or kind not in (*INTEGERS, DOUBLE):
            raise self.unsupported(f"{node.name} of {left.kind} and {right.kind}")
        one, other = self.coerced(left, kind), self.coerced(right, kind)
        sign = "//" if node.name == "div" else node.name
        if isinstance(right, Value) and right.value:
            return f"({one} {sign} {other})"
        # Spark raises; DuckDB would give NULL or infinity.
        return (
            f"CASE WHEN {other} = 0 AND {one} IS NOT NULL THEN error('division by zero') ELSE {one} {sign} {other} END"
        )

    def _bits(self, node: Call) -> str:
        if node.kind not in INTEGERS:
            raise self.unsupported(self._name(node))
        return f"({self.coerced(node.args[0], node.kind)} {node.name} {self.coerced(node.args[1], node.kind)})"

    def _cast(self, node: Cast) -> str:
        if isinstance(node.node, Value) and isinstance(node.node.value, str) and not node.safe:
            try:
                cast_literal(node.node.value, node.kind)
            except Malformed as error:
                if node.kind not in FLOATS:
                    raise self.invalid(f"{error} is malformed") from error
        if UNKNOWN in (node.node.kind, node.kind):
            raise self.unsupported(f"CAST of a {node.node.kind} to {node.text}")
        source = self.sql(node.node)
        if isinstance(node.node, Field) and _is_foreign(node.node):
            source = self.coerced(node.node, node.node.kind)
        found = cast_sql(source, node.node.kind, node.kind, safe=node.safe)
        if found is None:
            raise self.unsupported(f"CAST of a {node.node.kind} to {node.text}")
        return found

    def _case(self, node: Case) -> str:
        if node.kind == UNKNOWN:
            raise self.unsupported("CASE over values of different types")
        branches = "".join(
            f" WHEN {self.condition(test)} THEN {self.coerced(result, node.kind)}" for test, result in node.branches
        )
        default = "" if node.default is None else f" ELSE {self.coerced(node.default, node.kind)}"
        return f"CASE{branches}{default} END"


def _field(node: Field) -> str:
    scope = "" if node.scope is None else f"{quote(node.scope)}."
    out = scope + quote(node.path[0].name)
    for column in node.path[1:]:
        # "s"."a" could be column a of a table s.
        out = f"struct_extract({out}, {literal_sql(column.name, STRING)})"
    return out


def _is_case_beside_ascii(nodes: Sequence[Node]) -> bool:
    calls = [node for node in nodes if isinstance(node, Call)]
    texts = [node.value for node in nodes if isinstance(node, Value) and isinstance(node.value, str)]
    case = len(calls) == 1 and calls[0].name in ("lower", "lcase", "upper", "ucase") and len(calls[0].args) == 1
    return case and len(texts) == len(nodes) - 1 and all(text.isascii() for text in texts)


def _whole(node: Value) -> str:
    return "NULL" if node.value is None else str(int(node.value))  # type: ignore[arg-type]


def _is_whole(node: Node) -> bool:
    """Whether it is an integer in DuckDB too; these compare exactly, whatever their sizes."""
    if isinstance(node, Field):
        return isinstance(node.leaf.type, Primitive) and node.leaf.type.name in _WHOLE
    if isinstance(node, Value):
        return node.kind in INTEGERS or (is_decimal(node.kind) and node.kind.scale == 0 and node.value is not None)
    return node.kind in INTEGERS


def _is_foreign(node: Field) -> bool:
    """Whether DuckDB holds the column in another type than the one that Spark knows it by."""
    foreign = ("int128", "timestamp_s", "timestamp_ms", "timestamp_ns", "uuid", "json")
    type_ = node.leaf.type
    return isinstance(type_, Primitive) and (type_.name in foreign or type_.name.startswith("uint"))
