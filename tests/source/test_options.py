"""Options are read once, and none of them is overlooked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import quacklake as ql
from quacklake.source.options import Door, read_options

LAKE = {"url": "sqlite:///lake.db", "path": "analytics.events"}


def test_names_are_the_same_in_the_manner_of_spark_and_of_python() -> None:
    spelt = [
        read_options({**LAKE, name: "data/"}, "read").connection["data_path"]
        for name in ("dataPath", "data_path", "DATAPATH")
    ]
    assert spelt == ["data/"] * 3


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("7", 7),
        ("2026-01-02T03:04:05+00:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02 03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    ],
)
def test_a_moment_is_an_id_or_a_time(text: str, meant: object) -> None:
    assert read_options({**LAKE, "at": text}, "read").get("at") == meant


def test_the_table_is_the_path_or_an_option() -> None:
    assert read_options({"url": "x", "table": "a.b"}, "read").table == "a.b"
    assert read_options({"url": "x", "table": "a.b", "path": "a.b"}, "read").table == "a.b"


def test_settings_of_stores_have_a_prefix() -> None:
    found = read_options({**LAKE, "storage.key_id": "k", "storage.secret": "s"}, "write")
    assert found.storage == {"key_id": "k", "secret": "s"}
    assert found.secrets.list()[0].type == "s3"


@pytest.mark.parametrize(
    ("given", "door", "words"),
    [
        ({"path": "t"}, "read", "option 'url' is missing"),
        ({"url": "x"}, "read", "no table is named"),
        ({**LAKE, "table": "other"}, "read", "at once"),
        ({**LAKE, "wehre": "a > 1"}, "read", "did you mean 'where'"),
        ({**LAKE, "where": "a > 1"}, "write", "means nothing to a write"),
        ({**LAKE, "at": "3"}, "stream read", "means nothing to a stream read"),
        ({**LAKE, "at": "yesterday"}, "read", "give the id of a snapshot or a moment"),
        ({**LAKE, "rowIds": "yes"}, "read", "give true or false"),
        ({**LAKE, "maxSnapshotsPerTrigger": "0"}, "stream read", "give a number from 1 on"),
        ({**LAKE, "startingSnapshot": "-1"}, "stream read", "'latest'"),
        ({**LAKE, "asyncProgressTrackingEnabled": "true"}, "stream write", "there is no option"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, str], door: Door, words: str) -> None:
    with pytest.raises(ql.InvalidInputError) as caught:
        read_options(given, door)
    assert words in str(caught.value)


def test_what_spark_passes_on_is_no_mistake() -> None:
    read_options({**LAKE, "checkpointLocation": "/c", "queryName": "q"}, "stream write")


def test_no_secret_is_shown() -> None:
    found = read_options({"url": "postgresql://u:hush@h/d", "path": "t", "storage.secret": "quiet"}, "read")
    assert "hush" not in repr(found)
    assert "quiet" not in repr(found)
