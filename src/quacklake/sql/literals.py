"""Values of parameters as literals of Spark's dialect, for the parts of a statement that go to a verb as text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from quacklake.errors import InvalidInputError


def literal(value: Any, name: str) -> str:
    """The value as a literal, of the type that it would have if it were bound.

    Raises:
        InvalidInputError: For a value that no literal can say.
    """
    if hasattr(value, "item") and not isinstance(value, list | tuple):
        # A scalar of NumPy.
        value = value.item()
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    if isinstance(value, float):
        return f"CAST({_quoted(_float(value))} AS DOUBLE)"
    if isinstance(value, Decimal):
        return _decimal(value, name)
    if isinstance(value, str | UUID):
        return _quoted(str(value))
    if isinstance(value, bytes | bytearray):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, list | tuple):
        return f"array({', '.join(literal(each, name) for each in value)})"
    raise InvalidInputError(
        f"the value of :{name} is a {type(value).__name__}", hint="give a number, a text, a date, a datetime or a list"
    )


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return repr(value) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def _decimal(value: Decimal, name: str) -> str:
    if not value.is_finite():
        raise InvalidInputError(f"the value of :{name} is {value}, which no decimal can be")
    digits, scale = value.as_tuple().digits, -int(value.as_tuple().exponent)
    whole = max(len(digits) - scale, 0)
    return f"CAST('{value:f}' AS DECIMAL({max(whole + max(scale, 0), 1)}, {max(scale, 0)}))"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def bound(arguments: Mapping[str, Any] | object, name: str) -> str:
    """The literal of a parameter.

    Raises:
        InvalidInputError: When it has no value.
    """
    return literal(require(arguments, name), name)


def require(arguments: Mapping[str, Any] | object, name: str) -> Any:
    """The value of a parameter.

    Raises:
        InvalidInputError: When it has none.
    """
    if not isinstance(arguments, Mapping) or name not in arguments:
        raise InvalidInputError(f"there is no value for the parameter :{name}")
    return arguments[name]
