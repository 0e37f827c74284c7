"""Moves of lakes that are encrypted, kept in place, on servers, in object stores, or being written to meanwhile."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import quacklake as ql
from quacklake.catalog.moving.copying import OF_DATABASE
from quacklake.catalog.moving.target import Target
from quacklake.cli.app import app
from quacklake.tenancy import cloning, exporting, migrating, verifying
from tests.lakes import Place, answers, attached, difference
from tests.storage.object_store import ObjectStore
from tests.storage.object_store import object_store as object_store
from tests.tenants.moving import feed_of, shown_by
from tests.tenants.test_clones import fill

STEPS = (
    "CREATE TABLE t(i INT, s VARCHAR)",
    "INSERT INTO t SELECT range, 'x' || range FROM range(100)",
    "INSERT INTO t VALUES (1000, 'inlined')",
    "DELETE FROM t WHERE i % 3 = 0",
    "DELETE FROM t WHERE i % 5 = 0",
    "INSERT INTO t VALUES (1001, 'flushed')",
    "CALL ducklake_flush_inlined_data('lk')",
    "INSERT INTO t VALUES (1002, 'still inlined')",
)


def make_lake(tmp_path: Path, options: str = "") -> Place:
    """A lake of DuckDB with files that name snapshots inside."""
    place = Place("sqlite", f"sqlite:{tmp_path}/old.db", f"sqlite:///{tmp_path}/old.db", f"{tmp_path}/old.files/")
    with attached(place, options) as con:
        for step in STEPS:
            con.execute(step).fetchall()
    return place


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[ql.Tenants]:
    with ql.tenants(f"sqlite:///{tmp_path}/shared.db") as tenants:
        tenants.create("somebody")
        yield tenants


def opened(tmp_path: Path, name: str, **settings: Any) -> ql.Session:
    return ql.connect(f"sqlite:///{tmp_path}/shared.db", catalog=name, engine="local", create=False, **settings)


def settings_of(session: ql.Session) -> list[tuple[str, str]]:
    return sorted((each.name, each.value) for each in session.options() if each.name not in OF_DATABASE)


def shown_in(url: str, **settings: Any) -> Any:
    with ql.connect(url, engine="local", create=False, **settings) as session:
        return shown_by(session), feed_of(session, "t"), settings_of(session)


def same_for_duckdb(lake: Place, copy: Place) -> None:
    with attached(lake) as con:
        want = answers(con)
    with attached(copy) as con:
        got = answers(con)
    for ours, theirs in zip(got, want, strict=True):
        assert ours.error is None
        assert difference(ours.rows, theirs.rows) is None, str(ours)


def test_an_encrypted_lake_stays_encrypted_wherever_it_goes(shared: ql.Tenants, tmp_path: Path) -> None:
    lake = make_lake(tmp_path, "ENCRYPTED")
    expected = shown_in(lake.url)
    made = shared.migrate(lake.url, "wb")
    assert made.written_files > 0
    shared.clone("wb", "copy")
    for name in ("wb", "copy"):
        with opened(tmp_path, name) as session:
            assert (shown_by(session), feed_of(session, "t"), settings_of(session)) == expected
            assert session.check() == []
            session.table("t").append(pa.table({"i": pa.array(range(50), pa.int32()), "s": ["new"] * 50}))
            session.table("t").delete("i = 7")
            count = session.table("t").count()
    shared.export("copy", f"sqlite:///{tmp_path}/back.db")
    with attached(Place("sqlite", f"sqlite:{tmp_path}/back.db", "", f"{tmp_path}/back.db.files/"), "ENCRYPTED") as con:
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(count,)]
    files = [*tmp_path.rglob("*.parquet")]
    assert len(files) > 8
    for path in files:
        with pytest.raises((pa.ArrowInvalid, OSError), match="encrypt"):
            pq.read_metadata(path)


def test_a_lake_may_be_made_of_the_files_of_a_catalog(shared: ql.Tenants, tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    shared.migrate(lake.url, "wb", owns_files=True)
    with opened(tmp_path, "wb") as session:
        session.table("t").append(pa.table({"i": pa.array(range(50), pa.int32()), "s": ["new"] * 50}))
        expected = shown_by(session), feed_of(session, "t")
    before = {path for path in tmp_path.rglob("*.parquet") if "back" not in str(path)}
    move = shared.export("wb", f"sqlite:///{tmp_path}/back.db", copy_files=False)
    # What names snapshots inside is written anew, and nothing else.
    assert len({*tmp_path.rglob("*.parquet")} - before) == move.written_files > 0
    assert shown_in(f"sqlite:///{tmp_path}/back.db")[:2] == expected
    shared.drop("wb")
    shared.cleanup()
    assert shown_in(f"sqlite:///{tmp_path}/back.db")[:2] == expected
    with attached(Place("sqlite", f"sqlite:{tmp_path}/back.db", "", f"{tmp_path}/back.db.files/")) as con:
        con.execute("DELETE FROM t WHERE i < 20").fetchall()
        rows = con.execute("SELECT count(*) FROM t").fetchall()
    with ql.connect(f"sqlite:///{tmp_path}/back.db", engine="local") as session:
        assert [(session.table("t").count(),)] == rows
        assert session.check() == []


@pytest.mark.server
@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_catalog_becomes_a_lake_on_a_server(
    kind: str, shared: ql.Tenants, tmp_path: Path, new_place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, place = make_lake(tmp_path), new_place(kind)
    shared.migrate(lake.url, "wb")
    expected = shown_in(lake.url)[:2]

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("stop")

    with monkeypatch.context() as patched:
        patched.setattr(verifying, "_compare_rows", fail)
        with pytest.raises(RuntimeError, match="stop"):
            shared.export("wb", place.url, place.data_path)
    assert not [path for path in Path(place.data_path).rglob("*") if path.is_file()]
    with pytest.raises(ql.QuacklakeError):
        ql.connect(place.url, place.data_path, engine="local", create=False)
    assert shared.export("wb", place.url, place.data_path).compared > 3
    assert shown_in(place.url)[:2] == expected
    same_for_duckdb(lake, place)
    with pytest.raises(ql.AlreadyExistsError):
        shared.export("wb", place.url, place.data_path)
    with ql.connect(place.url, engine="local") as session:
        session.table("t").delete("i < 50")
        assert session.check() == []


def meddle(
    monkeypatch: pytest.MonkeyPatch, module: Any, step: str, act: Callable[[], object], *, first: bool = False
) -> None:
    """Let somebody do something to a lake right after a step of ours, or right before it, once."""
    real, acts = getattr(module, step), [act]

    def meddled(*arguments: Any, **named: Any) -> Any:
        if first and acts:
            acts.pop()()
        answer = real(*arguments, **named)
        if acts:
            acts.pop()()
        return answer

    monkeypatch.setattr(module, step, meddled)


def append(url: str, **settings: Any) -> None:
    with ql.connect(url, engine="local", **settings) as session:
        session.table("t").append(pa.table({"i": pa.array([7777], pa.int32()), "s": ["late"]}))


def expire(url: str, **settings: Any) -> None:
    with ql.connect(url, engine="local", **settings) as session:
        session.maintain.expire(versions=[session.snapshots()[1].snapshot_id])


def set_option(url: str, **settings: Any) -> None:
    with ql.connect(url, engine="local", **settings) as session:
        session.set_option("parquet_compression", "zstd")


@pytest.mark.parametrize("act", [append, expire, set_option])
@pytest.mark.parametrize("step", ["_complete", "compare_lakes"])
def test_whoever_writes_to_a_lake_while_it_is_moved_is_noticed(
    act: Callable[..., None], step: str, shared: ql.Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake(tmp_path)
    with monkeypatch.context() as patched:
        meddle(patched, migrating, step, lambda: act(lake.url), first=step == "_complete")
        with pytest.raises(ql.CatalogError if act is set_option else ql.ConflictError):
            shared.migrate(lake.url, "wb")
    assert [each.name for each in shared.list()] == ["somebody"]
    assert not [*(tmp_path / "shared.db.files").rglob("*.parquet")]
    shared.migrate(lake.url, "wb")
    with opened(tmp_path, "wb") as session:
        assert (shown_by(session), feed_of(session, "t"), settings_of(session)) == shown_in(lake.url)


@pytest.mark.parametrize("act", [append, expire, set_option])
@pytest.mark.parametrize("step", ["refuse_writers", "compare_lakes"])
def test_whoever_writes_to_a_catalog_while_it_becomes_a_lake_is_noticed(
    act: Callable[..., None], step: str, shared: ql.Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.migrate(make_lake(tmp_path).url, "wb")
    with monkeypatch.context() as patched:
        late = f"sqlite:///{tmp_path}/shared.db"
        meddle(patched, exporting, step, lambda: act(late, catalog="wb"), first=step == "refuse_writers")
        with pytest.raises(ql.CatalogError if act is set_option else ql.ConflictError):
            shared.export("wb", f"sqlite:///{tmp_path}/back.db")
    assert not [path for path in tmp_path.rglob("*back*") if path.is_file()]
    shared.export("wb", f"sqlite:///{tmp_path}/back.db")
    with opened(tmp_path, "wb") as session:
        assert shown_in(f"sqlite:///{tmp_path}/back.db")[:2] == (shown_by(session), feed_of(session, "t"))


def test_a_clone_is_of_one_moment_whoever_writes_right_after_it(
    shared: ql.Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake(tmp_path)
    shared.migrate(lake.url, "wb")
    with monkeypatch.context() as patched:
        meddle(patched, cloning, "_copy", lambda: append(f"sqlite:///{tmp_path}/shared.db", catalog="wb"))
        shared.clone("wb", "copy")
    with opened(tmp_path, "copy") as session:
        assert (shown_by(session), feed_of(session, "t"), settings_of(session)) == shown_in(lake.url)
    with opened(tmp_path, "wb") as session:
        assert session.table("t").scan(where="i = 7777").count() == 1


@pytest.mark.parametrize(
    "kind", ["sqlite", *(pytest.param(each, marks=pytest.mark.server) for each in ("postgresql",))]
)
def test_a_lake_that_is_written_to_all_the_time_loses_no_row_on_its_way(
    kind: str, shared: ql.Tenants, tmp_path: Path, new_place: Callable[[str], Place]
) -> None:
    place = new_place(kind)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "i INT, s STRING")
    done, failures, written = threading.Event(), list[BaseException](), [0]

    def write() -> None:
        try:
            with ql.connect(place.url, engine="local") as session:
                while not done.is_set():
                    session.table("t").append(pa.table({"i": pa.array([written[0]], pa.int32()), "s": ["w"]}))
                    written[0] += 1
                    done.wait(0.01)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            before = written[0]
            try:
                shared.migrate(place.url, f"wb{number}")
            except ql.ConflictError:
                continue
            # It went through between two commits: then all is there that was before.
            with opened(tmp_path, f"wb{number}") as session:
                assert session.table("t").count() >= before
    finally:
        done.set()
        writer.join()
    assert failures == []
    shared.migrate(place.url, "end")
    with opened(tmp_path, "end") as session:
        assert session.table("t").count() == written[0]
        assert session.check() == []


@pytest.mark.parametrize(
    ("name", "column", "change"),
    [
        ("snapshot", "snapshot_time", lambda moment: moment.replace(microsecond=(moment.microsecond + 1) % 1_000_000)),
        ("snapshot_changes", "changes_made", lambda text: f"{text},created_schema:x"),
        ("metadata", "value", lambda text: f"{text}0"),
    ],
)
def test_a_copy_that_tells_another_history_is_refused(
    name: str, column: str, change: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, insert = make_lake(tmp_path), Target.insert
    with attached(lake) as con:
        con.execute("CALL lk.set_option('parquet_compression', 'gzip')").fetchall()

    def tell_lies(self: Target, table: str, rows: Any) -> None:
        insert(self, table, [{**row, column: change(row[column])} for row in rows] if table == name else rows)

    with ql.tenants(f"sqlite:///{tmp_path}/shared.db") as shared:
        monkeypatch.setattr(Target, "insert", tell_lies)
        with pytest.raises(ql.CatalogError, match="not the same"):
            shared.migrate(lake.url, "wb")
        assert shared.list() == []


def test_lakes_are_moved_on_the_command_line(tmp_path: Path) -> None:
    lake, url = make_lake(tmp_path), f"sqlite:///{tmp_path}/shared.db"
    expected = shown_in(lake.url)[:2]

    def run(*words: str, code: int = 0) -> tuple[str, str]:
        found = CliRunner().invoke(app, ["--lake", url, *words])
        assert found.exit_code == code, found.output
        return found.stdout, found.stderr

    run("tenants", "create", "first")
    assert "Would copy: 1 tables" in run("tenants", "migrate", lake.url, "wb", "--dry-run")[1]
    assert "wb" not in run("tenants", "list")[0]
    (told,) = json.loads(run("tenants", "migrate", lake.url, "wb", "--json")[0])
    assert (told["name"], told["tables"], told["dry_run"], told["problems"]) == ("wb", 1, False, [])
    assert told["compared"] > 3
    assert "already" in run("tenants", "migrate", lake.url, "wb", code=1)[1]
    assert "shows what wb shows" in run("tenants", "clone", "wb", "copy")[1]
    assert "no catalog" in run("tenants", "clone", "nobody", "other", code=1)[1]
    back, in_place = f"sqlite:///{tmp_path}/back.db", f"sqlite:///{tmp_path}/in_place.db"
    assert "Would copy" in run("tenants", "export", "copy", back, "--dry-run")[1]
    assert not (tmp_path / "back.db").exists()
    said = run("tenants", "export", "copy", back, "--data-path", f"{tmp_path}/back_files/")[1]
    assert "a lake of its own now" in said
    assert "written anew" in said
    run("tenants", "export", "wb", in_place, "--in-place")
    assert "already" in run("tenants", "export", "wb", in_place, code=1)[1]
    assert shown_in(back)[:2] == shown_in(in_place)[:2] == expected
    assert [*(tmp_path / "back_files").rglob("*.parquet")]
    run("tenants", "migrate", lake.url, "mine", "--owns-files")
    for name in ("first", "wb", "copy", "mine"):
        run("tenants", "drop", name, "--yes", "--cleanup")
    assert shown_in(back)[:2] == expected
    assert shown_in(in_place)[:2] == expected


def test_a_catalog_in_an_object_store_is_made_moved_and_cloned(tmp_path: Path, object_store: ObjectStore) -> None:
    settings: Any = {"storage_options": object_store.options}
    root, url = f"{object_store.url}/moves", f"sqlite:///{tmp_path}/shared.db"

    def objects(folder: str) -> set[str]:
        found = object_store.client.list_objects_v2(Bucket="lake-bucket", Prefix=f"moves/{folder}")
        return {each["Key"] for each in found.get("Contents", ())}

    with ql.connect(f"sqlite:///{tmp_path}/lake.db", f"{root}/lake/", engine="local", **settings) as lake:
        table = lake.create_table("t", "a INT")
        table.append(pa.table({"a": pa.array(range(100), pa.int32())}))
        table.delete("a < 30")
        table.delete("a < 50")
        table.append(pa.table({"a": pa.array([1000], pa.int32())}))
        expected = shown_by(lake), feed_of(lake, "t")
    with ql.tenants(url, f"{root}/shared/", **settings) as tenants:
        fill(Place("sqlite", "", url, ""), "made", **settings)
        assert tenants.migrate(f"sqlite:///{tmp_path}/lake.db", "wb").written_files == 1
        tenants.clone("wb", "copy")
        with ql.connect(url, catalog="made", engine="local", **settings) as session:
            made = shown_by(session)
        tenants.clone("made", "made again")
        tenants.export("wb", f"sqlite:///{tmp_path}/back.db", f"{root}/back/")
        for name, want in (("wb", expected), ("copy", expected)):
            with ql.connect(url, catalog=name, engine="local", **settings) as session:
                assert (shown_by(session), feed_of(session, "t")) == want
                assert session.check() == []
        of_lake = objects("lake/")
        tenants.drop("made")
        tenants.drop("wb")
        assert tenants.cleanup()
        with ql.connect(url, catalog="made again", engine="local", **settings) as session:
            assert shown_by(session) == made
        with ql.connect(url, catalog="copy", engine="local", **settings) as session:
            assert (shown_by(session), feed_of(session, "t")) == expected
        for name in ("copy", "made again"):
            tenants.drop(name)
        tenants.cleanup()
    assert objects("shared/") == set()
    assert objects("lake/") == of_lake != set()
    assert shown_in(f"sqlite:///{tmp_path}/back.db", **settings)[:2] == expected
