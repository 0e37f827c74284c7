"""Change feeds of lakes from DuckDB's own tests: the whole life of every table, as DuckDB told it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import quacklake as ql
from tests.corpus.lakes import lake_names, read_feeds, read_lakes
from tests.differential.feeds import Key, feed_fault, keys, step, without

_FLUSHED = "of several versions of a row in one flushed file, all die with the first"
CONTRADICTED = {
    "sorted_table__data_inlining_flush_sorted_expression_deletes_999": _FLUSHED,
    "sorted_table__data_inlining_flush_sorted_expression_deletes_999_transaction": _FLUSHED,
    "sorted_table__data_inlining_flush_sorted_sequential_updates": _FLUSHED,
    "stats__min_max_optimization_compaction": "a row written and deleted in one transaction comes out as an update",
}
"""Where DuckDB's feed is not what its snapshots show, and why: there the snapshots are right."""


def _moves(lake: dict[str, Any], table_id: int) -> set[int]:
    """The snapshots that only moved rows of a table to other files."""
    word = f"rewrite_delete:{table_id}"
    return {each["id"] for each in lake["snapshots"] if word in (each["changes"] or "").split(",")}


@pytest.mark.parametrize("name", [each for each in lake_names() if each not in CONTRADICTED] or ["none"])
def test_a_feed_of_duckdb_reads_as_duckdb_told_it(corpus: Path, name: str) -> None:
    manifest = json.loads((corpus / name / "manifest.json").read_text())
    faults = []
    for lake in manifest["lakes"]:
        url, data_path, feeds = read_feeds(corpus / name, lake)
        with ql.connect(url, data_path=data_path, override_data_path=True, engine="local", read_only=True) as session:
            for feed, table_id in feeds:
                faults.append(feed_fault(session, "local", without(feed, _moves(lake, table_id))))
    assert [fault for fault in faults if fault is not None] == []


@pytest.mark.parametrize("name", [each for each in lake_names() if each in CONTRADICTED] or ["none"])
def test_where_duckdb_contradicts_itself_a_feed_says_what_its_snapshots_show(corpus: Path, name: str) -> None:
    manifest = json.loads((corpus / name / "manifest.json").read_text())
    differ = 0
    for lake, described in zip(read_lakes(corpus / name), manifest["lakes"], strict=True):
        _, _, feeds = read_feeds(corpus / name, described)
        with ql.connect(
            lake.url, data_path=lake.data_path, override_data_path=True, engine="local", read_only=True
        ) as session:
            for feed, table_id in feeds:
                moved = _moves(described, table_id)
                # Each row as its id and the snapshot that wrote it, at every snapshot.
                shown = {
                    answer.snapshot_id: {int(row[0] or 0): int(row[1] or 0) for row in answer.rows}
                    for answer in lake.answers
                    if answer.name == feed.name
                }
                truth: Counter[Key] = Counter()
                for snapshot in set(range(feed.start, feed.end + 1)) - moved:
                    truth.update(step(snapshot, shown.get(snapshot - 1, {}), shown.get(snapshot, {})))
                assert keys(session, "local", feed) == truth, feed
                differ += feed_fault(session, "local", without(feed, moved)) is not None
    assert differ
