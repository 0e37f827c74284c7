"""Words for ages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from quacklake.errors import InvalidInputError
from quacklake.maintenance.ages import OlderThan, find_limit
from tests.lakes import duck

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
LATEST = timedelta(microseconds=1)


def limit(given: OlderThan) -> datetime:
    return find_limit(given, NOW, "an_option", (), None)


@pytest.mark.parametrize(
    "words",
    [
        "7 days",
        "1 week",
        "12 hours",
        "90 minutes",
        "1 month",
        "13 months",
        "2 years 1 day",
        "1 day 02:30:00",
        "1.5 hours",
        "250 milliseconds",
        "1 quarter",
        "1 decade",
    ],
)
def test_words_mean_what_they_mean_in_duckdb(words: str) -> None:
    with duck() as con:
        row = con.execute("SELECT TIMESTAMP '2026-03-31 12:00:00' - CAST(? AS INTERVAL)", [words]).fetchone()
    assert row is not None
    assert limit(words) == row[0].replace(tzinfo=UTC) + LATEST


@pytest.mark.parametrize(
    ("words", "age"),
    [
        ("7d", timedelta(days=7)),
        ("12h", timedelta(hours=12)),
        ("2w", timedelta(days=14)),
        ("30m", timedelta(minutes=30)),
        ("90s", timedelta(seconds=90)),
        ("1d 12h", timedelta(hours=36)),
        ("0 days", timedelta(0)),
    ],
)
def test_short_words_work_too(words: str, age: timedelta) -> None:
    assert limit(words) == NOW - age + LATEST == limit(age)


def test_a_moment_is_taken_as_it_is() -> None:
    assert (
        limit("2026-01-31T12:00:00Z")
        == datetime(2026, 1, 31, 12, tzinfo=UTC)
        == limit(datetime(2026, 1, 31, 12, tzinfo=UTC))
    )


def test_nothing_is_older_than_the_calendar() -> None:
    for given in ("99999 years", "999999999999 days", timedelta.max):
        assert limit(given).year == 1


@pytest.mark.parametrize("words", ["", " ", "days", "7", "-7 days", "7 parsecs", "7 days ago", "1.5 months"])
def test_other_words_are_refused(words: str) -> None:
    with pytest.raises(InvalidInputError, match="is no age"):
        limit(words)
