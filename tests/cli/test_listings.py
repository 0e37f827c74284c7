"""`tables`, `show`, `snapshots` and `check`."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from tests.cli.conftest import Run


def test_tables_lists_tables_and_views(quacklake: Run) -> None:
    found = quacklake("tables")
    assert found.code == 0
    assert [line.split() for line in found.out.splitlines()] == [
        ["name", "kind"],
        ["main.empty", "table"],
        ["main.events", "table"],
        ["main.every", "table"],
        ["main.parted", "table"],
        ["other.odd", "table"],
        ["main.few", "view"],
    ]
    assert found.err == ""


def test_tables_of_one_namespace_as_json(quacklake: Run) -> None:
    found = quacklake("--json", "tables", "--namespace", "OTHER")
    assert json.loads(found.out) == [{"name": "other.odd", "kind": "table"}]


def test_json_may_be_asked_for_after_the_command(quacklake: Run) -> None:
    assert quacklake("tables", "--json").out == quacklake("--json", "tables").out


def test_an_empty_listing_says_so_on_stderr_and_is_an_empty_array_in_json(quacklake: Run) -> None:
    words = quacklake("--at", "0", "tables")
    assert (words.code, words.out, words.err) == (0, "", "There are no tables.\n")
    assert json.loads(quacklake("--at", "0", "tables", "--json").out) == []


def test_show_describes_the_columns(quacklake: Run) -> None:
    found = quacklake("show", "events")
    assert "what happened" in found.out
    rows = [line.split() for line in found.out.splitlines()]
    assert ["id", "int64", "no"] in rows
    assert ["country", "varchar", "yes", "two", "letters"] in rows
    assert ["amount", "decimal(10,2)", "yes", "1.5"] in rows


def test_show_as_json_has_everything(quacklake: Run) -> None:
    shown = json.loads(quacklake("show", "main.parted", "--json").out)
    assert shown["name"] == "main.parted"
    assert shown["partition_by"] == ["year(day)", "n"]
    assert shown["sort_by"] == ["n desc"]
    assert shown["format"] == "ducklake"
    assert [column["name"] for column in shown["columns"]] == ["day", "n"]
    assert shown["columns"][0] == {
        "id": 1,
        "name": "day",
        "type": "date",
        "nullable": True,
        "default": None,
        "comment": None,
    }


def test_snapshots_come_oldest_first_with_their_changes(quacklake: Run) -> None:
    found = json.loads(quacklake("snapshots", "--json").out)
    assert [each["snapshot_id"] for each in found] == list(range(len(found)))
    assert found[2]["changes"].startswith("inserted_into_table:")
    assert datetime.fromisoformat(found[0]["time"]).utcoffset() is not None
    assert set(found[0]) == {"snapshot_id", "time", "author", "message", "changes"}


@pytest.mark.parametrize(("limit", "expected"), [("2", 2), ("0", 0), ("1000", 18)])
def test_snapshots_keeps_the_newest(quacklake: Run, limit: str, expected: int) -> None:
    every = json.loads(quacklake("snapshots", "--json").out)
    some = json.loads(quacklake("snapshots", "--limit", limit, "--json").out)
    assert some == every[len(every) - expected :]


def test_snapshots_as_a_table_are_one_line_each(quacklake: Run) -> None:
    found = quacklake("snapshots")
    assert len(found.out.splitlines()) == 1 + len(json.loads(quacklake("snapshots", "--json").out))


def test_a_session_in_the_past_sees_only_what_was_there(quacklake: Run) -> None:
    assert json.loads(quacklake("--at", "2", "tables", "--json").out) == [{"name": "main.events", "kind": "table"}]
    assert len(json.loads(quacklake("--at", "2", "snapshots", "--json").out)) == 3


def test_a_time_with_a_zone_names_a_snapshot(quacklake: Run) -> None:
    snapshots = json.loads(quacklake("snapshots", "--json").out)
    moment = snapshots[1]["time"]
    assert json.loads(quacklake("--at", moment, "snapshots", "--json").out)[-1]["time"] == moment


def test_check_says_that_all_is_well(quacklake: Run) -> None:
    found = quacklake("check")
    assert (found.code, found.out, found.err) == (0, "", "All is well.\n")
    assert json.loads(quacklake("check", "--json").out) == []
