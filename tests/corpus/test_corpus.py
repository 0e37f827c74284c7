"""Lakes from DuckDB's own tests, read by the local engine: every table at every snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

import quacklake as ql
from tests.corpus.lakes import lake_names, read_lakes
from tests.differential.comparison import faults


@pytest.mark.parametrize("name", lake_names() or ["none"])
def test_a_lake_of_duckdb_reads_as_duckdb_reads_it(corpus: Path, name: str) -> None:
    for lake in read_lakes(corpus / name):
        with ql.connect(
            lake.url, data_path=lake.data_path, override_data_path=True, engine="local", read_only=True
        ) as session:
            assert faults(session, "local", lake.answers, only_rows=True) == []
