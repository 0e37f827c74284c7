"""From a syntax tree to a predicate's own tree: names tied to columns, everything else named or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.predicates.constants import NAMED, cast_node, negate, read_interval, read_number, read_type
from quacklake.predicates.functions import refusal
from quacklake.predicates.kinds import BINARY, BOOLEAN, NULL, STRING, UNKNOWN, kind_of
from quacklake.predicates.literals import Malformed
from quacklake.predicates.results import result_kind, widest
from quacklake.predicates.scope import Scope
from quacklake.predicates.tree import Call, Case, Field, Junction, Lambda, Member, Node, Value
from quacklake.types import ListOf, MapOf

if TYPE_CHECKING:
    from sqlglot import exp

_BINARY = {
    "EQ": "=",
    "NEQ": "<>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "NullSafeEQ": "<=>",
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Mod": "%",
    "IntDiv": "div",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "DPipe": "||",
    "BitwiseLeftShift": "shiftleft",
    "BitwiseRightShift": "shiftright",
}
_MATCHING = {"Like": "like", "ILike": "ilike", "RegexpLike": "rlike"}
_CONSTANTS = {"CurrentDate": "current_date", "CurrentTimestamp": "current_timestamp"}
_REFUSED = {
    "Subquery": "a subquery",
    "Select": "a subquery",
    "Exists": "a subquery",
    "Window": "a window function",
    "Star": "*",
    "Placeholder": "a parameter",
    "Parameter": "a parameter",
    "Collate": "COLLATE",
    "Any": "ANY",
    "All": "ALL",
    "Tuple": "a list of several values",
    "Distinct": "DISTINCT",
    "Order": "ORDER BY",
    "Kwarg": "an argument by name",
}
# What the parser may hang on a node without changing its meaning.
_HARMLESS = {"nested", "safe", "typed", "_type", "copy", "strict", "is_string", "quoted", "default_value"}


def bind(tree: exp.Expression, scope: Scope) -> Node:
    """The tree as a predicate's own records.

    Raises:
        NotFoundError: For a column that is not there; the hint lists those there are.
        InvalidInputError: For a function that is not one of Spark's, or not one for a single row.
        UnsupportedError: For anything else that a predicate cannot say.
    """
    return _Binder(scope).bind(tree)


class _Binder:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def bind(self, tree: Any) -> Node:
        name = type(tree).__name__
        if name in ("And", "Or"):
            return self._junction(tree, name)
        if name in _BINARY:
            self._only(tree, "this", "expression")
            return _call(_BINARY[name], self.bind(tree.this), self.bind(tree.expression))
        handler = getattr(self, f"_bind_{name.lower()}", None)
        if handler is not None:
            found: Node = handler(tree)
            return found
        if name in _CONSTANTS and not tree.args.get("this"):
            return _call(_CONSTANTS[name])
        raise self._refuse(_REFUSED.get(name, f"{tree.sql(dialect='spark')!r} ({name})"))

    def _refuse(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"the predicate {self.scope.text!r} has {what}, which a predicate cannot have",
            hint="it is a condition on one row; for more, use session.sql",
        )

    def _only(self, tree: Any, *known: str) -> None:
        """Refuse a node with an argument that is not read here: what it means would be lost."""
        extra = [key for key, value in tree.args.items() if value and key not in known and key not in _HARMLESS]
        if extra:
            raise self._refuse(f"{tree.sql(dialect='spark')!r} ({', '.join(extra)})")

    def _junction(self, tree: Any, name: str) -> Node:
        """Long chains lean to one side: taken apart in a loop, they cannot exhaust the stack."""
        parts, waiting = [], [tree]
        while waiting:
            node = waiting.pop()
            if type(node).__name__ == name:
                self._only(node, "this", "expression")
                waiting += [node.expression, node.this]
            else:
                parts.append(self.bind(node))
        return Junction(name.lower(), tuple(parts))

    def _bind_paren(self, tree: Any) -> Node:
        self._only(tree, "this")
        return self.bind(tree.this)

    def _bind_not(self, tree: Any) -> Node:
        self._only(tree, "this")
        return _negated(self.bind(tree.this))

    def _bind_neg(self, tree: Any) -> Node:
        self._only(tree, "this")
        node = self.bind(tree.this)
        constant = negate(node) if isinstance(node, Value) else None
        return constant or _call("neg", node)

    def _bind_bitwisenot(self, tree: Any) -> Node:
        return _call("~", self.bind(tree.this))

    def _bind_nullsafeneq(self, tree: Any) -> Node:
        self._only(tree, "this", "expression")
        return _negated(_call("<=>", self.bind(tree.this), self.bind(tree.expression)))

    def _bind_is(self, tree: Any) -> Node:
        self._only(tree, "this", "expression")
        node, wanted = self.bind(tree.this), type(tree.expression).__name__
        if wanted == "Null":
            return _call("isnull", node)
        if wanted == "Boolean":
            return _call("istrue" if tree.expression.this else "isfalse", node)
        raise self._refuse(f"IS {tree.expression.sql(dialect='spark')}")

    def _bind_in(self, tree: Any) -> Node:
        if tree.args.get("query") or tree.args.get("unnest") or tree.args.get("field"):
            raise self._refuse("a subquery")
        self._only(tree, "this", "expressions")
        if not tree.expressions:
            raise InvalidInputError(f"the predicate {self.scope.text!r} has an empty list after IN")
        return _call("in", self.bind(tree.this), *map(self.bind, tree.expressions))

    def _bind_between(self, tree: Any) -> Node:
        self._only(tree, "this", "low", "high")
        node = self.bind(tree.this)
        low, high = self.bind(tree.args["low"]), self.bind(tree.args["high"])
        return Junction("and", (_call(">=", node, low), _call("<=", node, high)))

    def _bind_like(self, tree: Any) -> Node:
        self._only(tree, "this", "expression", "negate")
        found = _call(_MATCHING[type(tree).__name__], self.bind(tree.this), self.bind(tree.expression))
        return _negated(found) if tree.args.get("negate") else found

    _bind_ilike = _bind_regexplike = _bind_like

    def _bind_escape(self, tree: Any) -> Node:
        self._only(tree, "this", "expression")
        inner, mark = self.bind(tree.this), self.bind(tree.expression)
        negative = isinstance(inner, Call) and inner.name == "not"
        matching = inner.args[0] if isinstance(inner, Call) and negative else inner
        if not isinstance(matching, Call) or matching.name not in ("like", "ilike"):
            raise self._refuse("ESCAPE")
        if not isinstance(mark, Value) or not isinstance(mark.value, str) or len(mark.value) != 1:
            raise InvalidInputError(f"the predicate {self.scope.text!r} has an ESCAPE that is not one character")
        found = _call(matching.name, *matching.args, mark)
        return _negated(found) if negative else found

    # Names.

    def _bind_column(self, tree: Any) -> Node:
        parts = tree.parts
        if any(type(part).__name__ == "Star" for part in parts):
            raise self._refuse("*")
        return self.scope.resolve([part.name for part in parts])

    def _bind_identifier(self, tree: Any) -> Node:
        return self.scope.resolve([tree.name])

    def _bind_dot(self, tree: Any) -> Node:
        if type(tree.expression).__name__ != "Identifier":
            raise self._refuse(f"{tree.sql(dialect='spark')!r}, a function of a namespace")
        node, name = self.bind(tree.this), tree.expression.name
        if isinstance(node, Field):
            return Field((*node.path, self.scope.child(node.leaf, name)), node.scope)
        return Member(node, name)

    def _bind_bracket(self, tree: Any) -> Node:
        self._only(tree, "this", "expressions")
        if len(tree.expressions) != 1:
            raise self._refuse("[] with more than one index")
        node, index = self.bind(tree.this), self.bind(tree.expressions[0])
        type_ = node.leaf.type if isinstance(node, Field) else None
        kind = UNKNOWN
        if isinstance(type_, ListOf):
            kind = kind_of(type_.element.type)
        elif isinstance(type_, MapOf):
            kind = kind_of(type_.value.type)
        return Call("[]", (node, index), kind)

    # Constants.

    def _bind_literal(self, tree: Any) -> Node:
        if tree.is_string:
            return Value(tree.this, STRING)
        try:
            return read_number(tree.this)
        except Malformed as error:
            raise InvalidInputError(f"the predicate {self.scope.text!r} has {error}") from error

    def _bind_rawstring(self, tree: Any) -> Node:
        return Value(tree.this, STRING)

    def _bind_hexstring(self, tree: Any) -> Node:
        digits = str(tree.this)
        return Value(bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}"), BINARY)

    def _bind_boolean(self, tree: Any) -> Node:
        return Value(bool(tree.this), BOOLEAN)

    def _bind_null(self, tree: Any) -> Node:
        return Value(None, NULL)

    def _bind_interval(self, tree: Any) -> Node:
        self._only(tree, "this", "unit")
        unit, amount = tree.args.get("unit"), tree.this
        minus = "-" if type(amount).__name__ == "Neg" else ""
        found = read_interval(minus + (amount.this if minus else amount).name, unit.name if unit is not None else "")
        if found is None or type(unit).__name__ != "Var":
            raise self._refuse(f"{tree.sql(dialect='spark')!r}, an interval of more than one unit")
        return found

    def _bind_concat(self, tree: Any) -> Node:
        # Two texts side by side are one text.
        parts = [self.bind(part) for part in tree.expressions]
        if all(isinstance(part, Value) and isinstance(part.value, str) for part in parts):
            return Value("".join(str(part.value) for part in parts if isinstance(part, Value)), STRING)
        raise self._refuse("texts side by side")

    # Calls.

    def _bind_cast(self, tree: Any) -> Node:
        self._only(tree, "this", "to")
        node, text = self.bind(tree.this), tree.args["to"].sql(dialect="spark")
        return cast_node(
            node, read_type(text), text, safe=type(tree).__name__ == "TryCast" and bool(tree.args.get("safe"))
        )

    _bind_trycast = _bind_cast

    def _bind_case(self, tree: Any) -> Node:
        self._only(tree, "this", "ifs", "default")
        operand = self.bind(tree.this) if tree.this else None
        branches = []
        for each in tree.args["ifs"]:
            test = self.bind(each.this)
            branches.append((test if operand is None else _call("=", operand, test), self.bind(each.args["true"])))
        default = self.bind(tree.args["default"]) if tree.args.get("default") else None
        results = [result for _, result in branches] + ([default] if default is not None else [])
        return Case(tuple(branches), default, widest(results))

    def _bind_anonymous(self, tree: Any) -> Node:
        name = str(tree.this).lower()
        reason = refusal(name)
        if reason is not None:
            raise InvalidInputError(
                f"the predicate {self.scope.text!r} cannot be used: {reason}", hint="use Spark's functions of one row"
            )
        args = tuple(map(self.bind, tree.expressions))
        if name in NAMED and len(args) == 1:
            return cast_node(args[0], NAMED[name], name.upper())
        return _call(name, *args)

    def _bind_extract(self, tree: Any) -> Node:
        return self._date_part(tree.this.name, self.bind(tree.expression))

    def _date_part(self, unit: str, node: Node) -> Node:
        plain = {"year", "month", "day", "hour", "minute", "quarter", "dayofweek"}
        if unit.lower() in plain:
            return _call(unit.lower(), node)
        return _call("date_part", Value(unit, STRING), node)

    def _bind_substring(self, tree: Any) -> Node:
        self._only(tree, "this", "start", "length")
        rest = [tree.args[key] for key in ("start", "length") if tree.args.get(key)]
        return _call("substring", self.bind(tree.this), *map(self.bind, rest))

    def _bind_trim(self, tree: Any) -> Node:
        self._only(tree, "this", "expression", "position")
        name = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[
            str(tree.args.get("position") or "").upper()
        ]
        chars = tree.args.get("expression")
        return _call(name, *([self.bind(chars)] if chars else []), self.bind(tree.this))

    def _bind_strposition(self, tree: Any) -> Node:
        self._only(tree, "this", "substr")
        return _call("position", self.bind(tree.args["substr"]), self.bind(tree.this))

    def _bind_lambda(self, tree: Any) -> Node:
        names = tuple(each.name for each in tree.expressions)
        return Lambda(names, bind(tree.this, self.scope.inside(names)))


def _call(name: str, *args: Node) -> Call:
    return Call(name, args, result_kind(name, args))


def _negated(node: Node) -> Node:
    if isinstance(node, Call) and node.name == "isnull":
        return _call("isnotnull", *node.args)
    return _call("not", node)
