"""Dates, times and intervals as DuckDB's text, from the numbers that Arrow holds.

DuckDB's calendar goes from 290309 BC to 294247 and has infinities; Python's does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_DATE_INFINITY = 2**31 - 1
_INFINITY = 2**63 - 1
_DAY_SECONDS = 86400
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FINEST = {"timestamp_s": "s", "timestamp_ms": "ms", "timestamp_ns": "ns", "time_ns": "ns"}
"""The smallest unit of a type; microseconds for those that are not here."""
# The first whole day that fits into 64 bits: DuckDB refuses what lies before it.
_FIRST_MICROSECOND = -9_223_372_022_400_000_000
_FIRST_NANOSECOND = -9_223_286_400_000_000_000
LONG_HOURS = r"(-?)([0-9]{10,}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?$"
"""The hours of an interval that DuckDB writes but does not read."""
_LONG_HOURS = re.compile(LONG_HOURS)


class Unreadable(Exception):
    """DuckDB reads no text as this value."""


def date_text(days: int) -> str:
    """A day since 1970 as DuckDB writes it."""
    if abs(days) == _DATE_INFINITY:
        return "infinity" if days > 0 else "-infinity"
    if days < -_DATE_INFINITY:
        raise Unreadable(f"the date of day {days} lies before the first that DuckDB knows")
    year, month, day = _civil(days)
    return f"{year:04d}-{month:02d}-{day:02d}" if year > 0 else f"{1 - year:04d}-{month:02d}-{day:02d} (BC)"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day in the Gregorian calendar without end; year 0 is 1 BC."""
    era, day_of_era = divmod(days + 719_468, 146_097)  # eras of 400 years that begin on 1 March
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def timestamp_writer(unit: str, type_name: str) -> Callable[[int], str]:
    """What writes a count of units since 1970 as a timestamp; with `+00` for one with a zone."""
    per_second, smallest = _PER_SECOND[unit], _smallest(unit, type_name)
    zone = "+00" if type_name == "timestamptz" else ""

    def write(value: int) -> str:
        if abs(value) == _INFINITY:
            return "infinity" if value > 0 else "-infinity"
        _check_range(value, per_second, type_name)
        _check_digits(value, smallest, type_name)
        seconds, fraction = divmod(value, per_second)
        days, second = divmod(seconds, _DAY_SECONDS)
        return f"{date_text(days)} {_clock(second, fraction, per_second)}{zone}"

    return write


def _check_range(value: int, per_second: int, type_name: str) -> None:
    if type_name == "timestamp_ns":
        scaled, first = value * (1_000_000_000 // per_second), _FIRST_NANOSECOND
    else:
        scaled, first = value * 1_000_000 // per_second, _FIRST_MICROSECOND
    if not first <= scaled < _INFINITY:
        raise Unreadable(f"the {type_name} {value} lies outside the calendar of DuckDB")


def _smallest(unit: str, type_name: str) -> int:
    """How many units of the data make the smallest step of the type; 1 when its steps are smaller still."""
    return max(1, _PER_SECOND[unit] // _PER_SECOND[_FINEST.get(type_name, "us")])


def _check_digits(value: int, smallest: int, type_name: str) -> None:
    if value % smallest:
        raise Unreadable(f"{value} has more digits behind the second than {type_name}")


def time_writer(unit: str, type_name: str) -> Callable[[int], str]:
    """What writes a count of units since midnight."""
    per_second, smallest = _PER_SECOND[unit], _smallest(unit, type_name)

    def write(value: int) -> str:
        _check_digits(value, smallest, type_name)
        second, fraction = divmod(value, per_second)
        return _clock(second, fraction, per_second)

    return write


def _clock(second: int, fraction: int, per_second: int) -> str:
    text = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    if not fraction:
        return text
    digits = len(str(per_second)) - 1
    return f"{text}.{fraction:0{digits}d}".rstrip("0")


def interval_text(value: Any) -> str:
    """An interval as DuckDB writes it, from Arrow's months, days and nanoseconds."""
    micros, rest = divmod(value.nanoseconds, 1000)
    if rest:
        raise Unreadable(f"an interval of {value.nanoseconds} nanoseconds has more digits than microseconds")
    months, days = value.months, value.days
    sign = -1 if months < 0 else 1
    counts = ((abs(months) // 12 * sign, "year"), (abs(months) % 12 * sign, "month"), (days, "day"))
    parts = [f"{count} {word}{'' if abs(count) == 1 else 's'}" for count, word in counts if count]
    if micros or not parts:
        second, fraction = divmod(abs(micros), 1_000_000)
        parts.append(("-" if micros < 0 else "") + _clock(second, fraction, 1_000_000))
    return " ".join(parts)


def readable_interval(text: str) -> str:
    """An interval in DuckDB's text, in another form where DuckDB does not read its own: from 10 digits of hours on."""
    found = _LONG_HOURS.search(text)
    if found is None:
        return text
    sign, hours, minutes, seconds, fraction = found.groups(default="")
    micros = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 1_000_000 + int(fraction.ljust(6, "0"))
    if micros > _INFINITY:
        raise Unreadable(f"the interval {text} has more microseconds than DuckDB reads")
    return f"{text[: found.start()]}{sign}{micros} microseconds"
