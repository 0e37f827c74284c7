"""Lakes from DuckDB's own tests, read by Spark."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

import quacklake as ql
from tests.corpus.lakes import lake_names, read_lakes
from tests.differential.comparison import faults
from tests.lakes import without_repeats

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]

GROUPS = {group: list(names) for group, names in groupby(lake_names(), key=lambda name: name.split("__")[0])}


# Spark's largest decimal has 38 digits; a lake with a number of 39 is refused, and the column is named.
REFUSED = {"default__all_types_column_default_stats": "n_uhugeint"}


@pytest.mark.parametrize("group", GROUPS or ["none"])
def test_lakes_of_duckdb_read_as_duckdb_reads_them(corpus: Path, group: str) -> None:
    found = []
    for name in GROUPS[group]:
        for lake in read_lakes(corpus / name):
            with ql.connect(
                lake.url, data_path=lake.data_path, override_data_path=True, engine="spark", read_only=True
            ) as session:
                wrong = faults(session, "spark", without_repeats(lake.answers), only_rows=True)
                if name in REFUSED:
                    assert wrong
                    assert all("DECIMAL(38,0)" in fault and REFUSED[name] in fault for fault in wrong)
                else:
                    found += [f"{name}: {fault}" for fault in wrong]
    assert found == []
