"""`scan`, `files` and `explain`."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.cli.conftest import Run


def test_scan_prints_a_table_whose_lines_are_rows(quacklake: Run) -> None:
    found = quacklake("scan", "events", "--where", "id IN (10, 1999)", "--columns", "id,amount")
    assert [line.split() for line in found.out.splitlines()] == [["id", "amount"], ["10", "2.50"], ["1999", "499.75"]]


def test_scan_into_a_pipe_prints_every_row(quacklake: Run) -> None:
    assert len(quacklake("scan", "events", "--json").out.splitlines()) == 1990


def test_json_is_one_object_per_line_in_the_order_of_the_columns(quacklake: Run) -> None:
    found = quacklake(
        "scan", "events", "--json", "--where", "id = 10", "--columns", "amount", "--columns", "country,id"
    )
    assert found.out == '{"amount": "2.50", "country": "US", "id": 10}\n'


def test_csv_has_names_first_and_tells_null_from_empty(quacklake: Run) -> None:
    found = quacklake("scan", "other.odd", "--format", "csv")
    rows = list(csv.reader(io.StringIO(found.out)))
    assert rows[0] == ["a b", "note"]
    assert sorted(rows[1:])[0] == ["1", "two\nlines"]
    assert '4,""\n' in found.out
    assert "5,\n" in found.out


def test_control_characters_and_markup_in_data_stay_harmless(quacklake: Run) -> None:
    found = quacklake("scan", "other.odd")
    assert r"two\nlines" in found.out
    assert r"\x1b[31mred" in found.out
    assert "[bold]not bold" in found.out
    assert "\x1b" not in found.out
    assert len(found.out.splitlines()) == 6


def test_null_is_a_word_in_a_table(quacklake: Run) -> None:
    assert [line.split() for line in quacklake("scan", "other.odd", "--where", "`a b` = 5").out.splitlines()] == [
        ["a", "b", "note"],
        ["5", "NULL"],
    ]


def test_a_column_name_may_be_quoted(quacklake: Run) -> None:
    assert quacklake("scan", "other.odd", "--columns", '"a b"', "--limit", "0", "--format", "csv").out == "a b\n"


@pytest.mark.parametrize(("format_", "expected"), [("json", ""), ("csv", "id\n"), ("table", "id\n")])
def test_an_empty_table_has_names_and_no_rows(quacklake: Run, format_: str, expected: str) -> None:
    assert quacklake("scan", "empty", "--format", format_).out.replace(" ", "") == expected


def test_scan_at_a_snapshot_sees_the_rows_of_then(quacklake: Run) -> None:
    assert quacklake("scan", "events", "--count").out == "1990\n"
    assert quacklake("scan", "events", "--count", "--at", "2").out == "1000\n"
    assert quacklake("--at", "3", "scan", "events", "--count").out == "2000\n"
    assert quacklake("scan", "events", "--count", "--json").out == '{"count": 1990}\n'


def test_a_dropped_table_can_be_read_at_a_snapshot_that_had_it(quacklake: Run) -> None:
    last = json.loads(quacklake("snapshots", "--limit", "1", "--json").out)[0]["snapshot_id"]
    assert quacklake("scan", "gone", "--json").code == 1
    assert quacklake("scan", "gone", "--json", "--at", str(last - 1)).out == '{"n": 42}\n'


def test_the_limit_is_kept(quacklake: Run) -> None:
    assert len(quacklake("scan", "events", "--limit", "7", "--json").out.splitlines()) == 7
    assert quacklake("scan", "events", "--limit", "0", "--json").out == ""


def test_every_type_of_the_format_comes_out_whole(quacklake: Run) -> None:
    found = quacklake("scan", "every", "--json")
    assert json.loads(found.out) == {
        "boolean": True,
        "uint8": 1,
        "uint64": 2**63,
        "int128": "2",
        "uint128": "3",
        "float32": 0.1,
        "float64": "NaN",
        "decimal": "12.50",
        "date": "2026-01-31",
        "forever": "infinity",
        "time": "12:00:00.000000",
        "timetz": "11:00:00+00",  # Parquet keeps the moment, not the zone
        "timestamp": "2026-01-31T12:00:00.000000",
        "timestamp_ns": "2026-01-31T12:00:00.000000001",
        "timestamptz": "2026-01-31T11:00:00.000000Z",
        "interval": "1 month 2 days",
        "varchar": "ä",
        "blob": "AP8=",
        "uuid": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "json": '{"a": 1}',
        "list": [1, None],
        "struct": {"x": ["2026-01-31"], "y": None},
        "map": [{"key": "k", "value": "1.5"}],
        "nothing": None,
    }


def test_row_ids_come_first(quacklake: Run) -> None:
    found = json.loads(quacklake("scan", "events", "--row-ids", "--where", "id = 10", "--json").out)
    assert list(found)[:2] == ["rowid", "snapshot_id"]
    assert (found["rowid"], found["snapshot_id"]) == (10, 2)


def test_json_and_another_format_cannot_go_together(quacklake: Run) -> None:
    assert quacklake("scan", "events", "--json", "--format", "csv").code == 2
    assert quacklake("--json", "scan", "empty", "--format", "csv").out == "id\n"


def test_files_lists_what_a_scan_would_read(quacklake: Run) -> None:
    every = json.loads(quacklake("files", "events", "--json").out)
    assert sorted((each["rows"], each["snapshot_id"], each["delete_files"]) for each in every) == [
        (1000, 2, 1),
        (1000, 3, 0),
    ]
    assert all(each["path"].endswith(".parquet") and each["bytes"] > 0 for each in every)
    some = json.loads(quacklake("files", "events", "--where", "id >= 1500", "--json").out)
    assert some == [each for each in every if each["snapshot_id"] == 3]


def test_files_as_a_table_are_one_line_each(quacklake: Run) -> None:
    assert len(quacklake("files", "events").out.splitlines()) == 3
    assert quacklake("files", "empty").err == "No file would be read.\n"


def test_explain_says_how_many_files_are_read(quacklake: Run) -> None:
    found = quacklake("explain", "events", "--where", "id >= 1500")
    assert "1 of 2" in found.out
    plan = json.loads(quacklake("explain", "events", "--where", "id >= 1500", "--json").out)
    assert (plan["table"], plan["files_total"], plan["files_kept"]) == ("main.events", 2, 1)
    assert plan["conditions"] != []
