"""What one task reads: a plan with some of the files in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pyspark.sql.datasource import InputPartition

from quacklake.plan.changes import ChangePlan, TableChanges
from quacklake.plan.scan import ScanFile, ScanPlan

PART_BYTES = 32 << 20
"""Files of so many bytes are one task's: every row passes through Python, so tasks are smaller than Spark's own."""
_OPENING_BYTES = 1 << 20
"""To open a file takes about as long as to read so much of one."""


class Part(InputPartition):
    """The plan of one task. Nothing in it can reach a catalog."""

    def __init__(self, plan: ScanPlan | ChangePlan) -> None:
        self.plan = plan


def split_scan(plan: ScanPlan) -> list[Part]:
    """A plan as the plans of tasks: groups of files, and the rows that the catalog holds."""
    parts = [Part(replace(plan, files=tuple(group), inlined=())) for group in _groups(plan.files)]
    if any(rows.data.num_rows for rows in plan.inlined):
        parts.append(Part(replace(plan, files=())))
    return parts


def split_births(plan: ChangePlan) -> list[Part]:
    """The same for new rows. Which of them are updates is not asked, so that each file is by itself."""
    changes = plan.changes
    empty = TableChanges(changes.start, changes.end, moves=changes.moves)
    parts = [Part(replace(plan, changes=replace(empty, births=tuple(group)))) for group in _groups(changes.births)]
    if any(rows.data.num_rows for rows in changes.born):
        parts.append(Part(replace(plan, changes=replace(empty, born=changes.born))))
    return parts


def _groups(files: Sequence[ScanFile]) -> Iterator[Iterable[ScanFile]]:
    group: list[ScanFile] = []
    room = 0
    for file in files:
        weight = _OPENING_BYTES + (file.size or 0)
        if group and weight > room:
            yield group
            group, room = [], PART_BYTES
        room = (room if group else PART_BYTES) - weight
        group.append(file)
    if group:
        yield group
