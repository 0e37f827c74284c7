"""Functions and operators of a query on the local engine: those that give there what they give on Spark.

Each of them was run on both. What is not named here is refused, however DuckDB would call it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quacklake.errors import UnsupportedError

if TYPE_CHECKING:
    from sqlglot import exp

SAME = frozenset(
    """abs acos add_months and any_value approx_distinct approx_quantile arg_max arg_min array array_agg array_append
    array_compact array_contains array_insert array_max array_min array_prepend array_remove array_size array_slice
    array_sort array_to_string array_unique_agg arrays_zip ascii asin atan atan2 avg bin bit_length bitwise_and_agg
    bitwise_count bitwise_or_agg bitwise_xor_agg case cast cbrt ceil chr coalesce concat concat_ws contains corr cos
    cosh cot count count_if covar_pop covar_samp cume_dist current_date current_timestamp date_from_unix_date date_part
    date_trunc datediff day day_of_month day_of_week day_of_year decode_case degrees dense_rank encode ends_with
    equal_null exists exp explode explode_outer extract factorial filter first first_value flatten floor from_base64
    generate_series greatest group_concat grouping grouping_id hex hour if initcap is_nan json_array_length
    json_extract_scalar json_format json_keys lag last last_day last_value lead least left length levenshtein ln log
    logical_and logical_or lower make_date map map_concat map_entries map_from_entries map_keys map_values max md5 mean
    median min minute mode month months_between next_day not now nth_value ntile nullif nvl2 or pad percent_rank
    percentile_cont percentile_disc pi posexplode power quantile quarter radians rand range rank reduce regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_split regr_slope repeat replace
    reverse right round row_number safe_divide second sha sha2 sign sin sinh space split_part sqrt starts_with stddev
    stddev_pop stddev_samp str_position str_to_time str_to_unix struct substring sum tan tanh time_str_to_time
    time_to_str timestamp_add timestamp_from_parts timestamp_trunc to_base64 transform translate trim try_cast
    ts_or_ds_add ts_or_ds_to_date unhex unix_date unix_micros unix_millis unix_seconds unix_to_str unnest upper
    url_decode uuid var_map variance variance_pop week_of_year weekday xor year""".split()
)
_WHOLE_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_UNITS = {
    **dict.fromkeys(("MM", "MON", "MONTH"), "MONTH"),
    **dict.fromkeys(("YY", "YYYY", "YEAR"), "YEAR"),
    "QUARTER": "QUARTER",
    "WEEK": "WEEK",
}
_FORMAT_WORD = re.compile(r"%-?[YymbBdHIMSaAp]")


def settle(tree: exp.Expr) -> exp.Expr:
    """Let a query mean for DuckDB what it means for Spark.

    Raises:
        UnsupportedError: For a function that gives something else there, or is not known to give the same.
    """
    from sqlglot import exp

    for function in list(tree.find_all(exp.Func)):
        name = name_of(function)
        if name not in SAME and not isinstance(function.parent, exp.Table):
            raise _refusal(name)
    # From the inside out, so that what is made of one expression takes up what was made of its parts.
    for node in reversed(list(tree.walk())):
        rule = _RULES.get(name_of(node) if isinstance(node, exp.Anonymous) else node.key.lstrip("_"))
        if rule is None:
            continue
        new = rule(node)
        if new is not node:
            if node is tree:
                tree = new
            else:
                node.replace(new)
    return tree


def name_of(function: exp.Expr) -> str:
    """What a function is called."""
    from sqlglot import exp

    name = function.sql_name() if isinstance(function, exp.Func) and function.key != "anonymous" else function.name
    return str(name).lower()


def _refusal(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"the function {name} is not known to give on the local engine what it gives on Spark",
        hint="connect with engine='spark'",
    )


def _divide(node: Any) -> exp.Expr:
    """A division by zero raises."""
    from sqlglot import exp

    divisor = node.expression
    plain = divisor.unnest()
    if isinstance(plain, exp.Literal) and not plain.is_string and float(plain.this) != 0:
        return node  # type: ignore[no-any-return]
    error = exp.Anonymous(this="error", expressions=[exp.Literal.string("division by zero")])
    zero = exp.EQ(this=exp.paren(divisor.copy()), expression=exp.Literal.number(0))
    safe = exp.Case(ifs=[exp.If(this=zero, true=error)], default=exp.paren(divisor.copy()))
    node.set("expression", exp.paren(safe))
    return node  # type: ignore[no-any-return]


def _like(node: Any) -> exp.Expr:
    """A backslash escapes, as long as nothing else does."""
    from sqlglot import exp

    pattern = node.expression
    if isinstance(node.parent, exp.Escape) or (isinstance(pattern, exp.Literal) and "\\" not in pattern.this):
        return node  # type: ignore[no-any-return]
    if isinstance(pattern, exp.Any | exp.All):
        if any("\\" in each.this for each in pattern.find_all(exp.Literal)):
            raise UnsupportedError("LIKE ANY with a backslash", hint="connect with engine='spark'")
        return node  # type: ignore[no-any-return]
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _cast(node: Any) -> exp.Expr:
    """To a whole number, what is behind the point goes; to a text, each type as Spark writes it."""
    from sqlglot import exp

    inner, target = node.this, node.to
    if isinstance(inner, exp.Null) or (isinstance(inner, exp.Literal) and target.this.name not in _WHOLE_NUMBERS):
        return node  # type: ignore[no-any-return]
    if target.this.name in _WHOLE_NUMBERS:
        return _macro("quacklake_whole", inner, node)
    return _macro("quacklake_text", inner, None) if target.this.name in ("TEXT", "VARCHAR") else node


def _macro(name: str, inner: exp.Expr, cast: Any) -> exp.Expr:
    from sqlglot import exp

    called = exp.Anonymous(this=name, expressions=[inner.copy()])
    if cast is None:
        return called
    cast.set("this", called)
    return cast  # type: ignore[no-any-return]


def _as_date(node: Any) -> exp.Expr:
    from sqlglot import exp

    return exp.cast(node.copy(), "date")


def _as_moment(node: Any) -> exp.Expr:
    """What DuckDB gives without a zone has one in Spark."""
    from sqlglot import exp

    return exp.cast(node.copy(), "timestamptz")


def _read_moment(node: Any) -> exp.Expr:
    return _as_moment(_format(node))


def _trunc(node: Any) -> exp.Expr:
    """The first day of a month, a quarter, a year or a week."""
    from sqlglot import exp

    unit = node.args.get("unit")
    known = None if unit is None else _UNITS.get(unit.name.upper())
    if known is None:
        raise UnsupportedError("trunc to this unit", hint="connect with engine='spark'")
    node.set("unit", exp.Var(this=known))
    return _as_date(node)


def _one_more(node: Any) -> exp.Expr:
    """Spark counts the days of a week from one."""
    from sqlglot import exp

    return exp.paren(exp.Add(this=node.copy(), expression=exp.Literal.number(1)))


def _extract(node: Any) -> exp.Expr:
    unit = str(node.this.name if hasattr(node.this, "name") else node.this).upper()
    return _one_more(node) if unit in ("DOW", "DAYOFWEEK", "DAYOFWEEK_ISO") else node


def _weekday(node: Any) -> exp.Expr:
    from sqlglot import exp

    day = exp.Anonymous(this="isodow", expressions=[each.copy() for each in node.expressions])
    return exp.paren(exp.Sub(this=day, expression=exp.Literal.number(1)))


def _substring(node: Any) -> exp.Expr:
    """The place before the first counts as the first."""
    from sqlglot import exp

    start = node.args.get("start")
    if start is None or (isinstance(start, exp.Literal) and start.this != "0"):
        return node  # type: ignore[no-any-return]
    zero = exp.EQ(this=exp.paren(start.copy()), expression=exp.Literal.number(0))
    first = exp.Case(ifs=[exp.If(this=zero, true=exp.Literal.number(1))], default=start.copy())
    node.set("start", first)
    return node  # type: ignore[no-any-return]


def _quantile(node: Any) -> exp.Expr:
    from sqlglot import exp

    return exp.Anonymous(this="quantile_cont", expressions=[node.this.copy(), node.args["quantile"].copy()])


def _extreme(name: str) -> Callable[[Any], exp.Expr]:
    def rule(node: Any) -> exp.Expr:
        from sqlglot import exp

        return exp.Anonymous(this=name, expressions=[node.this.copy(), node.expression.copy()])

    return rule


def _contains(node: Any) -> exp.Expr:
    """Whether a list has something is not known when it has a NULL."""
    from sqlglot import exp

    return exp.Anonymous(this="quacklake_has", expressions=[node.this.copy(), node.expression.copy()])


def _replace_by(node: Any) -> exp.Expr:
    """The groups of a match are written in another way."""
    from sqlglot import exp

    by = node.args.get("replacement")
    if not isinstance(by, exp.Literal) or "$" in by.this or "\\" in by.this:
        raise UnsupportedError("regexp_replace with a $ or a backslash", hint="connect with engine='spark'")
    return node  # type: ignore[no-any-return]


def _format(node: Any) -> exp.Expr:
    from sqlglot import exp

    form = node.args.get("format")
    if form is None:
        return node  # type: ignore[no-any-return]
    # sqlglot marks what may not be left out.
    plain = _FORMAT_WORD.sub("", form.name.replace("strict", ""))
    if not isinstance(form, exp.Literal) or re.search("[A-Za-z'%]", plain):
        raise UnsupportedError(f"the pattern {form.name!r} of a date", hint="connect with engine='spark'")
    return node  # type: ignore[no-any-return]


def _of_days(node: Any) -> exp.Expr:
    unit = node.args.get("unit")
    if unit is not None and unit.name.upper() not in ("DAY", "DAYS"):
        raise UnsupportedError(f"a difference in {unit.name.lower()}s", hint="connect with engine='spark'")
    return node  # type: ignore[no-any-return]


def _outer(node: Any) -> exp.Expr:
    """A list without elements, or none at all, still makes a row."""
    from sqlglot import exp

    lateral = node.find_ancestor(exp.Lateral)
    named = name_of(node) == "explode_outer"
    if not named and (lateral is None or not lateral.args.get("outer")):
        return node  # type: ignore[no-any-return]
    if isinstance(node, exp.Posexplode):
        raise UnsupportedError("LATERAL VIEW OUTER of anything but explode", hint="connect with engine='spark'")
    values = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    return exp.Explode(this=exp.Anonymous(this="quacklake_or_null", expressions=[values.copy()]))


def _item(node: Any) -> exp.Expr:
    """The element of a list, or the value of a key: which of them only the engine knows, and how it is counted."""
    from sqlglot import exp

    index = node.expressions[0]
    if node.args.get("safe") or (isinstance(index, exp.Literal) and index.is_string):
        return node  # type: ignore[no-any-return]
    name = "quacklake_element" if node.args.get("offset") else "quacklake_item"
    return exp.Anonymous(this=name, expressions=[node.this.copy(), index.copy()])


def _plain_arguments(node: Any) -> exp.Expr:
    from sqlglot import exp

    function = node.expression
    if isinstance(function, exp.Lambda) and len(function.expressions) > 1:
        raise UnsupportedError("transform with a number for each element", hint="connect with engine='spark'")
    return node  # type: ignore[no-any-return]


_RULES: dict[str, Callable[[Any], Any]] = {
    "div": _divide,
    "mod": _divide,
    "intdiv": _divide,
    "bracket": _item,
    "like": _like,
    "ilike": _like,
    "cast": _cast,
    "trycast": _cast,
    "tsordsadd": _as_date,
    "addmonths": _as_date,
    "datefromunixdate": _as_date,
    "datetrunc": _trunc,
    "dayofweek": _one_more,
    "extract": _extract,
    "weekday": _weekday,
    "substring": _substring,
    "quantile": _quantile,
    "argmax": _extreme("arg_max_null"),
    "argmin": _extreme("arg_min_null"),
    "arraycontains": _contains,
    "regexpreplace": _replace_by,
    "timetostr": _format,
    "strtotime": _read_moment,
    "timestampfromparts": _as_moment,
    "strtounix": _format,
    "unixtostr": _format,
    "tsordstodate": _format,
    "datediff": _of_days,
    "explode": _outer,
    "explodeouter": _outer,
    "explode_outer": _outer,
    "posexplode": _outer,
    "transform": _plain_arguments,
}
