"""How old something must be: a moment, a length of time, or words for either."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from quacklake.catalog.view import Option
from quacklake.errors import InvalidInputError

OlderThan = datetime | timedelta | str | None
"""A moment, an age, words such as `7 days` or `12h`, or None for what the lake says."""

_SECONDS = {
    "microsecond us usec": 1e-6,
    "millisecond ms msec": 1e-3,
    "second s sec": 1,
    "minute m min": 60,
    "hour h hr": 3600,
    "day d": 86_400,
    "week w": 604_800,
}
_MONTHS = {"month mon": 1, "quarter": 3, "year y yr": 12, "decade": 120}
_UNITS: dict[str, tuple[str, float]] = {
    word: (kind, size)
    for kind, sizes in (("seconds", _SECONDS), ("months", _MONTHS))
    for words, size in sizes.items()
    for word in words.split()
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)[\s,]*", re.IGNORECASE)
_CLOCK = re.compile(r"(\d+):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?\s*")
_LATEST = timedelta(microseconds=1)


def find_limit(
    given: OlderThan, now: datetime, option: str, options: Iterable[Option], default: str | None
) -> datetime:
    """The moment before which things are old enough.

    Args:
        given: What the caller said.
        now: By the clock that the things were stamped with.
        option: The setting of the lake that counts when the caller said nothing.
        options: The settings of the lake.
        default: What counts when the lake says nothing either.

    Raises:
        InvalidInputError: When it makes no sense, or nobody said anything.
    """
    stored = next((each.value for each in options if each.name == option and each.scope is None), None)
    if given is not None:
        return _limit(given, now, f"older_than={given!r}")
    if stored is not None:
        return _limit(stored, now, f"the setting {option} of the lake is {stored!r}, which")
    if default is None:
        raise InvalidInputError(
            "nobody said how old is old", hint=f"give older_than, or session.set_option('{option}', '30 days')"
        )
    return _limit(default, now, option)


def _limit(given: object, now: datetime, what: str) -> datetime:
    if isinstance(given, str):
        found = _parse(given, now)
        if found is not None:
            return found
    if isinstance(given, timedelta) and given >= timedelta(0):
        return _before(now, 0, given)
    if isinstance(given, datetime):
        # What has no zone is in that of this machine, as everywhere.
        return given.astimezone(UTC)
    raise InvalidInputError(
        f"{what} is no age", hint="give a datetime, a timedelta of 0 or more, or words such as '7 days' or '12h'"
    )


def _parse(text: str, now: datetime) -> datetime | None:
    """The moment that words mean; None when they mean none."""
    months, rest, at, plain = 0, timedelta(0), 0, text.strip()
    try:
        while at < len(plain):
            if clock := _CLOCK.match(plain, at):
                hours, minutes, seconds = (float(each or 0) for each in clock.groups())
                rest += timedelta(hours=hours, minutes=minutes, seconds=seconds)
                at = clock.end()
                continue
            part = _PART.match(plain, at)
            word = part[2].lower() if part else ""
            kind, size = _UNITS.get(word) or _UNITS.get(word.removesuffix("s"), ("", 0))
            if part is None or not kind or (kind == "months" and "." in part[1]):
                return datetime.fromisoformat(plain).astimezone(UTC)
            if kind == "months":
                months += int(part[1]) * int(size)
            else:
                rest += timedelta(seconds=float(part[1]) * size)
            at = part.end()
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
    except ValueError:
        return None
    return _before(now, months, rest) if plain else None


def _before(now: datetime, months: int, rest: timedelta) -> datetime:
    """So long before now; what is exactly as old is old enough."""
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    try:
        day = min(now.day, monthrange(year, month + 1)[1])
        return now.replace(year=year, month=month + 1, day=day) - rest + _LATEST
    except (OverflowError, ValueError):
        # Nothing is as old as that.
        return datetime.min.replace(tzinfo=UTC)
