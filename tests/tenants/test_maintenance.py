"""What is expired and cleaned up in one catalog leaves the others as they are."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.shared.layout import unbound
from tests.lakes import Place
from tests.tenants.histories import tell_history
from tests.tenants.statements import unbound as reaches_too_far
from tests.tenants.statements import watching
from tests.tenants.test_layout import live


@pytest.fixture
def pair(backend: Place) -> Iterator[tuple[ql.Session, ql.Session]]:
    with (
        ql.connect(backend.url, backend.data_path, catalog="a", engine="local") as a,
        ql.connect(backend.url, catalog="b", engine="local") as b,
    ):
        for session in (a, b):
            live(session)
            session.table("t").set_comment("other")
            session.create_view("view", "SELECT 2 AS id", or_replace=True)
            table = session.create_table("gone", "id INT, v STRING", comment="c")
            table.append(pa.table({"id": range(40), "v": ["x"] * 40}))
            session.drop_table("gone")
            _add_macro(session)
        yield a, b


def _add_macro(session: ql.Session) -> None:
    """As DuckDB would have made it: one that is gone, with an implementation."""
    tables, newest = session._catalog.tables, session.current_snapshot
    oldest = session.snapshots()[0].snapshot_id
    id_ = session._catalog.view().tables[0].table_id
    macro = {"schema_id": 0, "macro_id": id_, "macro_name": "m", "begin_snapshot": oldest, "end_snapshot": newest}
    with session._catalog.backend.write() as connection:
        connection.execute(tables.macro.insert(), macro)
        connection.execute(tables.macro_impl.insert(), {"macro_id": id_, "impl_id": 0, "sql": "1", "type": "scalar"})


def _rows(session: ql.Session) -> dict[str, list[str]]:
    """Every row of every table, whoever it belongs to."""
    with session._catalog.backend.read() as connection:
        return {
            table.name: sorted(map(str, connection.execute(sa.select(unbound(table)))))
            for table in session._catalog.tables
            if table.name != "ducklake_metadata"
        }


def test_expiring_in_one_catalog_takes_nothing_from_another(
    pair: tuple[ql.Session, ql.Session], backend: Place
) -> None:
    a, b = pair
    before, rows = tell_history(b), _rows(b)
    with watching() as seen:
        report = a.maintain.expire(versions=[each.snapshot_id for each in a.snapshots()[:-1]])
        cleaned = a.maintain.cleanup(older_than="0 seconds")
        orphans = a.maintain.remove_orphans(older_than="0 seconds")
    assert [text for text in seen if reaches_too_far(text, backend.kind)] == []
    assert report.tables > 0
    assert cleaned.files > 0
    assert orphans.files == 0
    assert len(a.snapshots()) == 1
    assert tell_history(b) == before
    assert a.check() == b.check() == []
    # Only rows of the one catalog are gone, and none of those is left that nothing leads to.
    b.maintain.expire(versions=[each.snapshot_id for each in b.snapshots()[:-1]])
    after = _rows(b)
    assert after["ducklake_macro_impl"] == []
    assert all(len(after[name]) <= len(rows[name]) for name in after if "scheduled" not in name)
    assert b.table("t").count() == a.table("t").count()
    assert a.check() == b.check() == []


def test_a_snapshot_that_expired_meanwhile_may_have_been_a_conflict(pair: tuple[ql.Session, ql.Session]) -> None:
    a, b = pair
    for session, conflicts in ((a, True), (b, False)):
        tx = session.transaction()
        tx.table("t").delete("id > 10")
        made = session.create_table("between", "x INT").history()[-1].snapshot_id
        session.create_table("later", "x INT")
        if conflicts:
            session.maintain.expire(versions=[made])
            with pytest.raises(ql.ConflictError, match="cannot be judged"):
                tx.commit()
        else:
            tx.commit()
