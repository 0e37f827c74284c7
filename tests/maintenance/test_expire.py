"""Expiry: which snapshots, what stays, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

import quacklake as ql
from tests.lakes import Place, snapshot_ids, spread_moments

MANY = pa.table({"id": range(40)})
FEW = pa.table({"id": [1]})


def scheduled(session: ql.Session) -> list[str]:
    table = session._catalog.tables.files_scheduled_for_deletion
    with session._catalog.backend.read() as connection:
        return sorted(connection.execute(sa.select(table.c.path)).scalars())


def write(place: Place) -> ql.Session:
    """Seven snapshots: a table that stays and one that goes, with inlined rows and deletes."""
    session = ql.connect(place.url, place.data_path, engine="local")
    table = session.create_table("t", "id BIGINT")
    table.append(MANY)
    table.delete("id < 20")
    gone = session.create_table("gone", "id BIGINT")
    gone.append(FEW)
    session.drop_table("gone")
    return session


def test_an_age_of_nothing_expires_all_but_the_newest(backend: Place) -> None:
    with write(backend) as session:
        rows = session.table("t").to_arrow()["id"].to_pylist()
        *old, newest = snapshot_ids(session)
        assert len(old) == 6
        gone = session.table("gone", at=old[4])._entry.table_id
        report = session.maintain.expire(timedelta(0))
        assert report.snapshots == tuple(old)
        assert report.tables == 1
        assert snapshot_ids(session) == [newest]
        assert session.table("t").to_arrow()["id"].to_pylist() == rows
        assert session.check() == []
        with session._catalog.backend.read() as connection:
            names = session._catalog.backend.columns(connection)
        assert not [name for name in names if name.startswith(f"ducklake_inlined_data_{gone}_")]
        with pytest.raises(ql.NotFoundError, match=f"no snapshot {old[3]}"):
            session.table("t", at=old[3])
        assert session.maintain.expire(timedelta(0)) == type(report)()


def test_a_dry_run_changes_nothing_and_says_the_same(backend: Place) -> None:
    with write(backend) as session:
        session.table("t").delete("id >= 20")
        before = snapshot_ids(session)
        promised = session.maintain.expire(timedelta(0), dry_run=True)
        assert snapshot_ids(session) == before
        assert scheduled(session) == []
        assert session.table("t", at=before[2]).scan().count() == 40
        done = session.maintain.expire(timedelta(0))
        assert promised.dry_run
        assert (promised.snapshots, promised.tables, promised.files_scheduled) == (
            done.snapshots,
            done.tables,
            done.files_scheduled,
        )
        assert len(scheduled(session)) == done.files_scheduled == 2


def test_the_setting_of_the_lake_counts_when_nobody_says_anything(tmp_path: Path) -> None:
    with write(Place.in_folder("sqlite", tmp_path)) as session:
        with pytest.raises(ql.InvalidInputError, match="expire_older_than"):
            session.maintain.expire()
        session.set_option("expire_older_than", "7 days")
        assert session.maintain.expire().snapshots == ()
        session.set_option("expire_older_than", "0 seconds")
        *old, _ = snapshot_ids(session)
        assert len(old) == 6
        assert session.maintain.expire().snapshots == tuple(old)


def test_ids_choose_and_the_newest_stays_whoever_asks(tmp_path: Path) -> None:
    with write(Place.in_folder("sqlite", tmp_path)) as session:
        at = snapshot_ids(session)
        assert session.maintain.expire(versions=[at[2], at[6]]).snapshots == (at[2],)
        assert session.maintain.expire(versions=[at[2], at[4]]).snapshots == (at[4],)
        assert session.maintain.expire(versions=[]).snapshots == ()
        assert snapshot_ids(session) == [at[0], at[1], at[3], at[5], at[6]]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"versions": [10**9]}, "no snapshot 1000000000"),
        ({"versions": [-1]}, "no snapshot -1"),
        ({"versions": ["3"]}, "'3' is no snapshot id"),
        ({"versions": [True]}, "True is no snapshot id"),
        ({"versions": 3}, "no list of snapshot ids"),
        ({"versions": [1], "older_than": "1 day"}, "by age or by id"),
        ({"older_than": "soon"}, "'soon' is no age"),
        ({"older_than": timedelta(days=-1)}, "is no age"),
        ({"older_than": 7}, "older_than=7 is no age"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(asked: dict[str, object], error: str, tmp_path: Path) -> None:
    with write(Place.in_folder("sqlite", tmp_path)) as session:
        with pytest.raises(ql.QuacklakeError, match=error):
            session.maintain.expire(**asked)  # type: ignore[arg-type]
        assert len(session.snapshots()) == 7


def test_sessions_that_read_do_not_maintain(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        past = snapshot_ids(session)[2]
    for given in ({"read_only": True}, {"at": past}):
        with ql.connect(place.url, engine="local", **given) as session:
            for verb in ("expire", "cleanup", "remove_orphans"):
                with pytest.raises(ql.ReadOnlyError):
                    getattr(session.maintain, verb)(timedelta(0))


@pytest.mark.parametrize("verb", ["flush", "merge_files", "rewrite_files", "checkpoint"])
def test_verbs_that_are_not_there_yet_say_so(verb: str, tmp_path: Path) -> None:
    with write(Place.in_folder("sqlite", tmp_path)) as session, pytest.raises(ql.UnsupportedError, match=verb):
        getattr(session.maintain, verb)()


def test_a_file_of_two_rows_is_scheduled_when_the_last_of_them_goes(backend: Place, tmp_path: Path) -> None:
    """DuckDB schedules it with the first, and its next cleanup breaks the other table."""
    file = tmp_path / "shared.parquet"
    pq.write_table(MANY, file)
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        for name in ("a", "b"):
            session.create_table(name, "id BIGINT").add_files([str(file)])
        session.drop_table("a")
        report = session.maintain.expire(timedelta(0))
        assert (report.tables, report.data_files, report.files_scheduled) == (1, 1, 0)
        session.drop_table("b")
        assert session.maintain.expire(timedelta(0)).files_scheduled == 1
        assert scheduled(session) == [str(file)]
        assert session.maintain.cleanup(timedelta(0)).paths == (str(file),)
        assert not file.exists()


def test_a_transaction_that_began_before_conflicts_with_what_has_expired(backend: Place) -> None:
    with write(backend) as session, ql.connect(backend.url, engine="local") as other:
        tx = session.transaction().__enter__()
        tx.table("t").delete("id = 30")
        other.table("t").delete("id = 31")
        other.create_table("later", "id BIGINT")
        other.maintain.expire(timedelta(0))
        with pytest.raises(ql.ConflictError, match="expired"):
            tx.commit()
        assert session.check() == []
        assert session.table("t").to_arrow()["id"].to_pylist() == [*range(20, 31), *range(32, 40)]


def test_a_moment_without_a_zone_is_in_the_zone_of_this_machine(tmp_path: Path) -> None:
    with write(Place.in_folder("sqlite", tmp_path)) as session:
        at, moments = snapshot_ids(session), spread_moments(session)
        assert [each.time for each in session.snapshots()] == moments
        naive = moments[3].astimezone().replace(tzinfo=None)
        assert session.maintain.expire(naive, dry_run=True).snapshots == tuple(at[:3])
        later = naive + timedelta(seconds=1)
        assert session.maintain.expire(later, dry_run=True).snapshots == tuple(at[:4])
        assert session.maintain.expire(datetime(1999, 1, 1, tzinfo=UTC)).snapshots == ()
