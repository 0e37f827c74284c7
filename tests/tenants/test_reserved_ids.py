"""Ids that are taken before a commit, where the database may refuse them for a moment."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.backends.protocol import Failure
from tests.commit.faults import make_faulty
from tests.lakes import Place, snapshot_ids


@pytest.mark.server
@pytest.mark.parametrize("failure", ["serialization", "deadlock", "locked", "lost"])
def test_ids_that_others_hold_for_a_moment_are_asked_for_again(
    failure: Failure, new_place: Callable[[str], Place]
) -> None:
    """MySQL takes them in a transaction of its own, long before the commit that would be tried again."""
    place = new_place("mysql")
    with ql.connect(place.url, place.data_path, catalog="a", engine="local") as session:
        table = session.create_table("t", "id BIGINT")
        table.append(pa.table({"id": range(40)}))
        table.delete("id < 15")
        before = snapshot_ids(session)
        faulty = make_faulty(session, failure, statement=1, moment="after", times=2)
        tx = session.transaction()
        # It replaces a delete file, which says in which snapshot each row died.
        tx.table("t").delete("id BETWEEN 20 AND 35")
        assert faulty.left == 0
        tx.commit()
        assert snapshot_ids(session)[:-1] == before
        assert session.table("t").to_arrow()["id"].to_pylist() == [*range(15, 20), *range(36, 40)]
        assert session.table("t", at=before[-1]).count() == 25
        assert session.check() == []
