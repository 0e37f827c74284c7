"""What a text means as a number, a date or a timestamp, by the rules of Spark's own casts."""

from __future__ import annotations

import re
import struct
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal, localcontext
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from quacklake.predicates.kinds import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Kind,
    is_decimal,
)
from quacklake.predicates.tree import Literal

RANGES = {
    kind: (-(1 << bits), (1 << bits) - 1) for kind, bits in ((TINYINT, 7), (SMALLINT, 15), (INT, 31), (BIGINT, 63))
}
"""The smallest and the largest value of each integer."""

_BLANKS = "".join(map(chr, range(0x21))) + "\x7f"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = {"nan": "nan", "inf": "inf", "infinity": "inf"}
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?\s*([A-Za-z+-].*)?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?(?::([0-9]{2}))?")


class Malformed(ValueError):
    """The text does not mean a value of that kind, or none that can be held here."""


def cast_literal(value: Literal, kind: Kind) -> Literal:
    """A constant as another kind.

    Raises:
        Malformed: When it cannot be cast, or the cast is not one that is done here.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _cast_text(value, kind)
    if isinstance(value, bool):
        if kind == BOOLEAN:
            return value
        value = int(value)
    if isinstance(value, int | Decimal | float):
        return _cast_number(value, kind)
    if isinstance(value, bytes) and kind == BINARY:
        return value
    if isinstance(value, datetime):
        return _cast_moment(value, kind)
    if isinstance(value, date) and kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        return value if kind == DATE else datetime(value.year, value.month, value.day)
    raise Malformed(f"{value!r} as {kind}")


def _cast_moment(value: datetime, kind: Kind) -> Literal:
    if kind in (TIMESTAMP, TIMESTAMP_NTZ) and value.tzinfo is None:
        return value
    if kind == TIMESTAMP:
        return value
    raise Malformed(f"{value!r} as {kind}: depends on the time zone of the session")


def _cast_text(text: str, kind: Kind) -> Literal:
    if kind == STRING:
        return text
    word = text.strip(_BLANKS)
    if kind == BOOLEAN:
        return parse_boolean(word)
    if kind in INTEGERS:
        if not _INTEGER.fullmatch(word):
            raise Malformed(f"{text!r} as {kind}")
        return _in_range(int(word), kind)
    if kind in (FLOAT, DOUBLE):
        number = parse_double(word)
        return number if kind == DOUBLE else _as_float32(number, Decimal(word) if _NUMBER.fullmatch(word) else None)
    if is_decimal(kind):
        if not _NUMBER.fullmatch(word):
            raise Malformed(f"{text!r} as {kind}")
        return round_decimal(Decimal(word), kind)
    if kind == DATE:
        return parse_date(word)
    if kind == TIMESTAMP:
        return parse_timestamp(word)
    if kind == TIMESTAMP_NTZ:
        moment = parse_timestamp(word)
        if moment.tzinfo is not None:
            # Spark drops the zone without a word: 12:00+05:00 would mean 12:00.
            raise Malformed(f"{text!r} as {kind}: it names a time zone, the column has none")
        return moment
    raise Malformed(f"{text!r} as {kind}")


def _cast_number(value: int | float | Decimal, kind: Kind) -> Literal:
    if kind in INTEGERS:
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            raise Malformed(f"{value!r} as {kind}")
        return _in_range(int(value), kind)
    if kind == DOUBLE:
        return float(value)
    if kind == FLOAT:
        return _as_float32(float(value), Decimal(value))
    if is_decimal(kind) and not isinstance(value, float):
        return round_decimal(Decimal(value), kind)
    if kind == BOOLEAN:
        return value != 0
    if kind == STRING and not isinstance(value, float):
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    raise Malformed(f"{value!r} as {kind}")


def _as_float32(value: float, exact: Decimal | None) -> float:
    """The value, if a float of 32 bits holds just that; rounding twice could be off by one step."""
    try:
        held = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        held = None
    if value == value and (held != value or (exact is not None and exact.is_finite() and Decimal(value) != exact)):
        raise Malformed(f"{value!r} as float: it would be rounded")
    return value


def _in_range(value: int, kind: Kind) -> int:
    low, high = RANGES[kind]
    if not low <= value <= high:
        raise Malformed(f"{value} is out of the range of {kind}")
    return value


def parse_boolean(word: str) -> bool:
    """`true`, `yes`, `1` and so on."""
    if word.lower() in _TRUE:
        return True
    if word.lower() in _FALSE:
        return False
    raise Malformed(f"{word!r} as boolean")


def parse_double(word: str) -> float:
    """A number, `NaN` or an infinity, each as Spark spells them."""
    sign, name = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
    if name.lower() in _WORDS and not (sign and name.lower() == "nan"):
        return float(sign + _WORDS[name.lower()])
    bare = word[:-1] if word[-1:] in ("d", "D", "f", "F") else word
    if not _NUMBER.fullmatch(bare):
        raise Malformed(f"{word!r} as double")
    return float(bare)


def round_decimal(value: Decimal, kind: Kind) -> Decimal:
    """The value with the digits of the kind, halves away from zero."""
    with localcontext() as context:
        context.prec = 100
        rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
    if len(rounded.as_tuple().digits) > kind.precision:
        raise Malformed(f"{value} has more digits than {kind}")
    return rounded


def parse_date(word: str) -> date:
    """`2024`, `2024-5` or `2024-05-01`; after a whole date a time may follow and is dropped."""
    match = _DATE.fullmatch(word)
    if match is None or match[1] == "-":
        raise Malformed(f"{word!r} as date")
    try:
        return date(int(match[2]), int(match[3] or 1), int(match[4] or 1))
    except ValueError as error:
        raise Malformed(f"{word!r} as date") from error


def parse_timestamp(word: str) -> datetime:
    """A date with a time of day; with a time zone when the text names one. Digits beyond microseconds are dropped."""
    match = _TIMESTAMP.fullmatch(word)
    if match is None:
        raise Malformed(f"{word!r} as timestamp")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    micros = int(((fraction or "") + "000000")[:6])
    try:
        moment = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), micros
        )
    except ValueError as error:
        raise Malformed(f"{word!r} as timestamp") from error
    return moment if zone is None else moment.replace(tzinfo=_parse_zone(zone.strip()))


def _parse_zone(text: str) -> tzinfo:
    if text.upper() in ("Z", "UTC", "GMT", "UT"):
        return UTC
    match = _OFFSET.fullmatch(text)
    if match is not None:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0), seconds=int(match[4] or 0))
        if offset <= timedelta(hours=18):
            return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Malformed(f"{text!r} is not a time zone") from error
