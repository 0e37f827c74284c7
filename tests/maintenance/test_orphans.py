"""Orphans: files that nothing leads to are found, and nothing else is."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quacklake as ql
from quacklake.maintenance.orphans import is_ours
from quacklake.storage.listing import FoundFile, walk_files
from quacklake.storage.stores import Stores
from tests.lakes import Place, folder_of, snapshot_ids

NOW = timedelta(0)
ODD = ["a/b c=%", "ü", "", None, "x%2Fy", "#?&+", "'\"`", "[*]"]
MANY = pa.table({"id": range(40), "word": (ODD * 5)})
UUID = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"


def write(place: Place) -> ql.Session:
    session = ql.connect(place.url, place.data_path, engine="local")
    for name in ('"sp ace"', "t"):
        session.create_table(name, "id BIGINT, word STRING", partition_by=["word"]).append(MANY)
        session.table(name).delete("id % 3 = 0 AND id > 2")
        session.table(name).delete("id % 4 = 0")
    session.drop_table('"sp ace"')
    session.maintain.expire(versions=snapshot_ids(session)[1:3])
    return session


def put(session: ql.Session, path: str, days_ago: float = 3) -> str:
    file = folder_of(session) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"PAR1")
    moment = time.time() - days_ago * 86_400
    os.utime(file, (moment, moment))
    return str(file)


def test_what_the_lake_knows_is_no_orphan_however_it_is_spelled(backend: Place) -> None:
    with write(backend) as session:
        assert session.maintain.remove_orphans(NOW, dry_run=True).paths == ()
        assert session.maintain.remove_orphans(NOW).files == 0
        assert session.check() == []
        assert session.table("t").scan().count() == 20


def test_old_files_that_nothing_leads_to_are_deleted(backend: Place) -> None:
    with write(backend) as session:
        orphans = {
            put(session, f"main/t/ducklake-{UUID}.parquet"),
            put(session, f"main/t/word=a%2Fb%20c%3D%25/ducklake-{UUID}.parquet"),
            put(session, f"main/t/ducklake-{UUID}-delete.parquet"),
            put(session, f"main/t/ducklake-{UUID}-delete.puffin"),
            put(session, f"never/a table/ducklake-{UUID}.parquet"),
            put(session, f"main/t/.staging-ab12/ducklake-{UUID}.parquet"),
            put(session, f"main/t/.staging-ducklake-{UUID}-delete.parquet"),
            put(session, f"main/t/{UUID}/part-00000-{UUID}-c000.snappy.parquet"),
            put(session, f"main/t/{UUID}/word=x/part-00001-{UUID}.c000.parquet"),
            put(session, f"main/t/{UUID}/_SUCCESS"),
        }
        young = put(session, f"main/t/ducklake-{UUID[::-1]}.parquet", days_ago=1)
        others = [
            put(session, path)
            for path in (
                "README.md",
                "mine.parquet",
                "main/t/report.parquet",
                "main/t/part-00000.parquet",
                "main/t/ducklake-notes.txt",
                "ducklake-x.parquet.bak",
            )
        ]
        promised = session.maintain.remove_orphans(dry_run=True)
        assert {*promised.paths} == orphans
        assert all(Path(path).exists() for path in orphans)
        done = session.maintain.remove_orphans()
        assert {*done.paths} == orphans
        assert (done.files, done.failed) == (len(orphans), ())
        assert not any(Path(path).exists() for path in orphans)
        assert all(Path(path).exists() for path in (young, *others))
        assert session.maintain.remove_orphans(NOW).paths == (young,)
        assert session.check() == []


def test_files_of_a_transaction_under_way_stay(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with write(place) as session, session.transaction() as tx:
        tx.table("t").append(MANY)
        assert session.maintain.remove_orphans().files == 0
    with ql.connect(place.url, engine="local") as session:
        assert session.table("t").scan().count() == 60


def test_links_neither_hide_files_nor_lead_away(tmp_path: Path) -> None:
    """The lake is reached through a link, holds links, and has absolute paths through another."""
    real, elsewhere = tmp_path / "real", tmp_path / "elsewhere"
    real.mkdir()
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "second").symlink_to(real)
    place = Place("sqlite", "", f"sqlite:///{tmp_path}/c.db", f"{tmp_path}/link/")
    with ql.connect(place.url, place.data_path, engine="local") as session:
        table = session.create_table("t", "id BIGINT")
        table.append(pa.table({"id": range(20)}))
        added = real / "ducklake-added.parquet"
        pq.write_table(pa.table({"id": range(5)}), added)
        table.add_files([f"{tmp_path}/second/ducklake-added.parquet"])
        hidden = real / "ducklake-hidden.parquet"
        shutil.copy(added, hidden)
        (elsewhere / "name.parquet").symlink_to(hidden)
        table.add_files([f"{elsewhere}/name.parquet"])
        outside = elsewhere / "ducklake-outside.parquet"
        outside.write_bytes(b"")
        (real / "away").symlink_to(elsewhere)
        (real / "ducklake-link.parquet").symlink_to(outside)
        orphan = put(session, f"ducklake-{UUID}.parquet")
        report = session.maintain.remove_orphans(NOW)
        assert report.paths == (orphan,)
        assert added.exists()
        assert hidden.exists()
        assert outside.exists()
        assert session.table("t").scan().count() == 30
        assert session.check() == []


def test_files_that_were_added_outside_of_the_data_path_are_never_touched(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    outside = tmp_path / "ducklake-outside.parquet"
    pq.write_table(pa.table({"id": range(5), "word": ["a"] * 5}), outside)
    stranger = tmp_path / "ducklake-stranger.parquet"
    stranger.write_bytes(b"")
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "id BIGINT, word STRING").add_files([str(outside)])
        assert session.maintain.remove_orphans(NOW).files == 0
        session.drop_table("t")
        session.maintain.expire(NOW)
        assert session.maintain.remove_orphans(NOW).files == 0
    assert outside.exists()
    assert stranger.exists()


def test_a_file_that_is_added_while_orphans_are_looked_for_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "id BIGINT, word STRING")
        old = Path(put(session, "ducklake-old.parquet"))
        pq.write_table(MANY, old)

        def add_meanwhile(folder: str, stores: Stores) -> Iterator[FoundFile]:
            session.table("t").add_files([str(old)])
            return walk_files(folder, stores)

        monkeypatch.setattr("quacklake.maintenance.orphans.walk_files", add_meanwhile)
        assert session.maintain.remove_orphans(NOW).files == 0
        assert session.table("t").scan().count() == 40


def test_an_encrypted_lake_and_one_without_files_have_no_orphans(tmp_path: Path) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/a.db", engine="local") as session:
        assert session.maintain.remove_orphans(NOW).files == 0
        assert session.maintain.cleanup(NOW).files == 0
    with ql.connect(f"sqlite:///{tmp_path}/b.db", engine="local", encrypted=True) as session:
        table = session.create_table("t", "id BIGINT, word STRING", partition_by=["word"])
        table.append(MANY)
        table.delete("id > 10")
        session.maintain.expire(NOW)
        assert session.maintain.remove_orphans(NOW).files == 0
        session.maintain.cleanup(NOW)
        assert session.table("t").scan().count() == 11
        assert session.check() == []


@pytest.mark.parametrize(
    "path", [f"{UUID}/foreign.parquet", f"x{UUID}/part-00000.parquet", "Ducklake-1.parquet", "ducklake-1.csv"]
)
def test_names_of_others_are_not_ours(path: str) -> None:
    assert not is_ours(path)
