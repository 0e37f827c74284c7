"""Cleanup: what was scheduled is deleted, what is in use stays, what fails is tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.maintenance import cleanup
from tests.conftest import Duck
from tests.lakes import Place, folder_of

MANY = pa.table({"id": range(40), "word": ["a/b c=%", "ü", "", None] * 10})
NOW = timedelta(0)


def write(place: Place) -> ql.Session:
    """A lake with five scheduled files in partition folders, and others that are alive."""
    session = ql.connect(place.url, place.data_path, engine="local")
    session.create_table("t", "id BIGINT, word STRING", partition_by=["word"]).append(MANY)
    session.create_table("alive", "id BIGINT, word STRING", partition_by=["word"]).append(MANY)
    session.table("t").delete("id = 3 OR id = 7 OR id >= 8 AND word IS NULL")
    session.drop_table("t")
    session.maintain.expire(NOW)
    return session


def files(session: ql.Session) -> set[str]:
    return {str(each) for each in folder_of(session).rglob("*.parquet")}


def schedule(session: ql.Session, *paths: str, is_relative: bool = True) -> None:
    table = session._catalog.tables.files_scheduled_for_deletion
    row = {"data_file_id": 1, "path_is_relative": is_relative, "schedule_start": datetime(2020, 1, 1, tzinfo=UTC)}
    with session._catalog.backend.write() as connection:
        connection.execute(table.insert(), [{**row, "path": path} for path in paths])


def scheduled(session: ql.Session) -> int:
    table = session._catalog.tables.files_scheduled_for_deletion
    with session._catalog.backend.read() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def test_scheduled_files_are_deleted_and_forgotten(backend: Place) -> None:
    with write(backend) as session:
        before, count = files(session), scheduled(session)
        assert count >= 4
        young = session.maintain.cleanup()
        assert (young.files, scheduled(session), files(session)) == (0, count, before)
        promised = session.maintain.cleanup(NOW, dry_run=True)
        assert (scheduled(session), files(session)) == (count, before)
        done = session.maintain.cleanup(NOW)
        assert {*promised.paths} == {*done.paths} == before - files(session)
        assert (done.files, done.failed, done.in_use) == (count, (), 0)
        assert scheduled(session) == 0
        assert session.maintain.cleanup(NOW).files == 0
        assert session.table("alive").scan().count() == 40
        assert session.check() == []


def test_files_that_are_gone_already_are_fine(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        (some, *_) = session.maintain.cleanup(NOW, dry_run=True).paths
        Path(some).unlink()
        schedule(session, "never/there.parquet", "catalog.sqlite/no/folder.parquet")
        report = session.maintain.cleanup(NOW)
        assert report.failed == ()
        assert scheduled(session) == 0


def test_a_file_that_cannot_be_deleted_stays_scheduled_and_is_named(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        stuck = folder_of(session) / "stuck.parquet"
        # Nobody can unlink a folder, not even root.
        stuck.mkdir()
        schedule(session, "stuck.parquet")
        count = scheduled(session)
        report = session.maintain.cleanup(NOW)
        assert (report.files, report.files_failed) == (count - 1, 1)
        assert [each.path for each in report.failed] == [str(stuck)]
        assert report.failed[0].reason
        assert scheduled(session) == 1
        stuck.rmdir()
        assert session.maintain.cleanup(NOW).files == 1
        assert scheduled(session) == 0


def test_pages_cover_everything_and_go_past_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "PAGE", 2)
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        (Path(place.data_path) / "stuck.parquet").mkdir()
        schedule(session, "stuck.parquet", "x1.parquet", "x2.parquet", "x3.parquet", "x2.parquet")
        report = session.maintain.cleanup(NOW)
        assert report.files_failed == 1
        assert scheduled(session) == 1


@pytest.mark.parametrize("spelling", ["relative", "absolute", "link", "file"])
def test_a_file_that_is_in_use_again_is_never_deleted(spelling: str, tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        alive = next(path for path in files(session) if "/alive/" in path and "%" in path)
        link = tmp_path / "link"
        link.symlink_to(folder_of(session))
        relative = alive.removeprefix(f"{folder_of(session)}/")
        path = {
            "relative": relative,
            "absolute": alive,
            "link": f"{link}/{relative}",
            "file": f"file://{alive}",
        }[spelling]
        schedule(session, path, is_relative=spelling == "relative")
        assert session.maintain.cleanup(NOW, dry_run=True).in_use == 1
        report = session.maintain.cleanup(NOW)
        assert report.in_use == 1
        assert Path(alive).exists()
        # Whoever cleans up next, DuckDB for one, might delete it.
        assert scheduled(session) == 0
        assert session.table("alive").scan().count() == 40
        assert session.check() == []


def test_a_scheduled_file_that_is_added_again_stays(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    file = tmp_path / "own.parquet"
    pq.write_table(pa.table({"id": range(5)}), file)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("a", "id BIGINT").add_files([str(file)])
        session.drop_table("a")
        session.maintain.expire(NOW)
        assert scheduled(session) == 1
        link = tmp_path / "other name.parquet"
        link.symlink_to(file)
        session.create_table("b", "id BIGINT").add_files([str(link)])
        assert session.maintain.cleanup(NOW).in_use == 1
        assert session.table("b").scan().count() == 5
        session.drop_table("b")
        session.maintain.expire(NOW)
        session.maintain.cleanup(NOW)
        assert not link.is_symlink()


def test_duckdb_finds_nothing_left_to_do(tmp_path: Path, duck: Duck) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        session.maintain.cleanup(NOW)
    with duck(place) as con:
        assert con.execute("CALL ducklake_cleanup_old_files('lk', cleanup_all => true)").fetchall() == []
        assert con.execute("SELECT count(*) FROM alive").fetchone() == (40,)


def test_the_setting_of_the_lake_counts_for_both_kinds_of_files(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        orphan = folder_of(session) / "ducklake-1.parquet"
        orphan.write_bytes(b"")
        session.set_option("delete_older_than", "1 hour")
        assert (session.maintain.cleanup().files, session.maintain.remove_orphans().files) == (0, 0)
        session.set_option("delete_older_than", "0 seconds")
        assert session.maintain.remove_orphans().paths == (str(orphan),)
        assert session.maintain.cleanup().files >= 4


def test_a_folder_that_is_not_mounted_keeps_the_schedule(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session:
        count = scheduled(session)
        Path(place.data_path).rename(tmp_path / "unmounted")
        with pytest.raises(ql.StorageError, match="is not there"):
            session.maintain.cleanup(NOW)
        assert scheduled(session) == count
        (tmp_path / "unmounted").rename(place.data_path)
        assert session.maintain.cleanup(NOW).files == count


def test_a_cleanup_that_gets_nowhere_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "PAGE", 4)
    with ql.connect(f"sqlite:///{tmp_path}/c.db", f"{tmp_path}/data", engine="local") as session:
        names = [f"stuck{number}.parquet" for number in range(10)]
        for name in names:
            (tmp_path / "data" / name).mkdir(parents=True)
        schedule(session, *names)
        assert session.maintain.cleanup(NOW).files_failed == 4
        assert scheduled(session) == 10
