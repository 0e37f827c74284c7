"""Every pair of changes, one after the other: the second commits as if it had begun after the first, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place, attached, run

Lake = ql.Session | ql.Transaction
Change = Callable[[Lake], object]


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"v{id_}" for id_ in ids]})


BIG = rows(*range(100, 150))

CHANGES: dict[str, Change] = {
    "append a file": lambda lake: lake.table("t").append(BIG),
    "append inlined": lambda lake: lake.table("t").append(rows(500)),
    "delete in a file": lambda lake: lake.table("t").delete("id < 20"),
    "delete in another file": lambda lake: lake.table("t").delete("id BETWEEN 60 AND 80"),
    "delete a whole file": lambda lake: lake.table("t").delete("id BETWEEN 50 AND 99"),
    "delete few": lambda lake: lake.table("t").delete("id = 3"),
    "delete inlined": lambda lake: lake.table("t").delete("id = 1000"),
    "update": lambda lake: lake.table("t").update({"v": "'new'"}, "id < 30"),
    "merge new": lambda lake: lake.table("t").merge(rows(700), on="id"),
    "merge old": lambda lake: lake.table("t").merge(rows(5, 700), on="id"),
    "overwrite": lambda lake: lake.table("t").overwrite(rows(1, 2)),
    "add column": lambda lake: lake.table("t").add_column("extra", "int"),
    "rename column": lambda lake: lake.table("t").rename_column("v", "w"),
    "widen": lambda lake: lake.table("t").alter_column("id", "bigint"),
    "forbid null": lambda lake: lake.table("t").alter_column("v", nullable=False),
    "comment": lambda lake: lake.table("t").set_comment("c"),
    "partition": lambda lake: lake.table("t").set_partition_by(["id"]),
    "sort": lambda lake: lake.table("t").set_sort_by(["id"]),
    "rename": lambda lake: lake.table("t").rename("r"),
    "rename to free": lambda lake: lake.table("u").rename("free"),
    "drop": lambda lake: lake.drop_table("t"),
    "create free": lambda lake: lake.create_table("free", "a int"),
    "create free view": lambda lake: lake.create_view("Free", "SELECT 1 AS a"),
    "create namespace": lambda lake: lake.create_namespace("m"),
    "create in n": lambda lake: lake.create_table("n.made", "a int"),
    "append in n": lambda lake: lake.table("n.x").append(pa.table({"a": pa.array([1], pa.int32())})),
    "drop namespace": lambda lake: lake.drop_namespace("n", cascade=True),
    "comment view": lambda lake: lake.set_view_comment("view", "c"),
    "rename view": lambda lake: lake.rename_view("view", "view2"),
    "drop view": lambda lake: lake.drop_view("view"),
}

_ALTER = {"add column", "rename column", "widen", "forbid null", "comment", "partition", "sort"}
_APPEND = {"append a file", "append inlined"}
_IN_FILES = {"delete in a file", "delete a whole file", "delete in another file"}
_IN_CATALOG = {"delete few", "delete inlined"}
_DELETE = {*_IN_FILES, *_IN_CATALOG, "update", "merge old", "overwrite"}
_GROW = {*_APPEND, "update", "merge new", "merge old", "overwrite"}
_GONE = {"drop"}

# The second writer -> the first writers that it conflicts with. What is not here commutes.
EXPECTED: dict[str, set[str]] = {
    **dict.fromkeys(_APPEND, _GONE | _ALTER | _DELETE),
    "delete in a file": _GONE | _ALTER | _GROW | _IN_CATALOG | {"delete in a file"},
    "delete in another file": _GONE | _ALTER | _GROW | _IN_CATALOG | {"delete in another file", "delete a whole file"},
    "delete a whole file": _GONE | _ALTER | _GROW | _IN_CATALOG | {"delete in another file", "delete a whole file"},
    **dict.fromkeys((*_IN_CATALOG, "update", "merge new", "merge old", "overwrite"), _GONE | _ALTER | _GROW | _DELETE),
    **{name: _GONE | _ALTER | {"rename"} for name in _ALTER},
    "forbid null": _GONE | _ALTER | _GROW | {"rename"},
    "rename": _GONE | _ALTER | {"rename"},
    "drop": _GONE | {"rename"},
    "rename to free": {"rename to free", "create free", "create free view"},
    "create free": {"rename to free", "create free", "create free view"},
    "create free view": {"rename to free", "create free", "create free view"},
    "create namespace": {"create namespace"},
    "create in n": {"create in n", "drop namespace"},
    "append in n": {"drop namespace"},
    "drop namespace": {"drop namespace", "create in n", "append in n"},
    "comment view": {"comment view", "rename view", "drop view"},
    "rename view": {"comment view", "rename view", "drop view"},
    "drop view": {"rename view", "drop view"},
}


def connect(place: Place) -> ql.Session:
    return ql.connect(place.url, place.data_path, engine="local")


def fill(session: ql.Session) -> None:
    table = session.create_table("t", "id INT, v STRING")
    table.append(rows(*range(50)))
    table.append(rows(*range(50, 100)))
    table.append(rows(1000, 1001))
    session.create_table("u", "id INT, v STRING").append(rows(*range(30)))
    session.create_namespace("n")
    session.create_table("n.x", "a int")
    session.create_view("view", "SELECT 1 AS a")


PLAIN = ql.connect
"""How a lake is opened that has a database for itself."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    place = Place.in_folder("sqlite", folder)
    with PLAIN(place.url, place.data_path, engine="local") as session:
        fill(session)
    return folder


def copy(template: Path, folder: Path) -> Place:
    shutil.copytree(template, folder)
    place = Place.in_folder("sqlite", folder)
    # The copy keeps its files to itself.
    with connect_copy(place) as session:
        assert session.table("t").count() == 102
    return place


def connect_copy(place: Place) -> ql.Session:
    return ql.connect(place.url, place.data_path, engine="local", override_data_path=True)


def content(session: ql.Session) -> dict[str, Any]:
    """What a lake shows, all of it."""
    found: dict[str, Any] = {"namespaces": session.namespaces(), "views": session.views()}
    for name in session.tables():
        table = session.table(name)
        shown = [(column.name, str(column.type), column.nullable) for column in table.schema]
        ids = sorted(map(str, table.scan().to_arrow().to_pylist()))
        found[name] = [shown, table.comment, table.partition_by, table.sort_by, ids]
    return found


class Plain:
    """What changes lead to, one after the other, in lakes where nothing else happens; each found out once."""

    def __init__(self, template: Path, folder: Path) -> None:
        self._template = template
        self._folder = folder
        self._known: dict[tuple[str, ...], dict[str, Any]] = {}

    def after(self, *changes: str) -> dict[str, Any]:
        """What a lake shows after these changes."""
        if changes not in self._known:
            folder = self._folder / ", then ".join(changes)
            shutil.copytree(self._template, folder)
            place = Place.in_folder("sqlite", folder)
            with PLAIN(place.url, place.data_path, engine="local", override_data_path=True) as session:
                for change in changes:
                    CHANGES[change](session)
                self._known[changes] = content(session)
        return self._known[changes]

    def after_both(self, first: str, second: str) -> dict[str, Any]:
        """What both lead to, the first one first where the second can come after it."""
        if (first, second) not in self._known:
            try:
                return self.after(first, second)
            except ql.NotFoundError:
                # The table has another name by then; the other way round it has not.
                self._known[first, second] = self.after(second, first)
        return self._known[first, second]


@pytest.fixture(scope="module")
def plain(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Plain:
    return Plain(template, tmp_path_factory.mktemp("plain"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("second", CHANGES)
def test_the_second_writer_comes_after_the_first_or_not_at_all(
    second: str, template: Path, tmp_path: Path, plain: Plain
) -> None:
    assert conflicts(second, plain, lambda name: copy(template, tmp_path / name)) == EXPECTED[second]


def conflicts(second: str, plain: Plain, begin: Callable[[str], Place]) -> set[str]:
    """The changes after which another one, which began before them, does not commit. The others it comes after."""
    found = set()
    for first, change in CHANGES.items():
        place = begin(first)
        if commits_after(place, CHANGES[second], change):
            assert content_of(place) == plain.after_both(first, second), first
        else:
            found.add(first)
            assert content_of(place) == plain.after(first), first
    return found


def commits_after(place: Place, second: Change, first: Change) -> bool:
    """Whether a change commits that began before the other one."""
    with connect_copy(place) as session, connect_copy(place) as other:
        try:
            with session.transaction() as tx:
                second(tx)
                first(other)
        except ql.ConflictError:
            return False
    return True


def content_of(place: Place) -> dict[str, Any]:
    with connect_copy(place) as session:
        return content(session)


THEIRS: dict[str, str] = {
    "append a file": "INSERT INTO t SELECT i, 'v' || i FROM range(100, 150) r(i)",
    "append inlined": "INSERT INTO t VALUES (500, 'v500')",
    "delete in a file": "DELETE FROM t WHERE id < 20",
    "delete few": "DELETE FROM t WHERE id = 3",
    "delete inlined": "DELETE FROM t WHERE id = 1000",
    "update": "UPDATE t SET v = 'new' WHERE id < 30",
    "add column": "ALTER TABLE t ADD COLUMN extra INTEGER",
    "rename column": "ALTER TABLE t RENAME v TO w",
    "widen": "ALTER TABLE t ALTER id SET DATA TYPE BIGINT",
    "comment": "COMMENT ON TABLE t IS 'c'",
    "partition": "ALTER TABLE t SET PARTITIONED BY (id)",
    "sort": "ALTER TABLE t SET SORTED BY (id)",
    "rename": "ALTER TABLE t RENAME TO r",
    "rename to free": "ALTER TABLE u RENAME TO free",
    "drop": "DROP TABLE t",
    "create free": "CREATE TABLE free(a INTEGER)",
    "create namespace": "CREATE SCHEMA m",
    "create in n": "CREATE TABLE n.made(a INTEGER)",
    "append in n": "INSERT INTO n.x VALUES (1)",
    "drop namespace": "DROP SCHEMA n CASCADE",
    "drop view": "DROP VIEW view",
    "rename view": "ALTER VIEW view RENAME TO view2",
    "comment view": "COMMENT ON VIEW view IS 'c'",
}
# What DuckDB does after us is its own affair; these it must see and refuse, for it reads what we write.
REFUSED_BY_DUCKDB = {
    ("append inlined", "add column"),
    ("append inlined", "drop"),
    ("append a file", "widen"),
    ("delete in a file", "append a file"),
    ("delete few", "delete few"),
    ("update", "append inlined"),
    ("add column", "comment"),
    ("partition", "sort"),
    ("drop", "drop"),
    ("create free", "create free"),
    ("create free", "rename to free"),
    ("create namespace", "create namespace"),
    ("drop namespace", "create in n"),
    ("create in n", "drop namespace"),
}
ACCEPTED_BY_DUCKDB = {
    ("append a file", "append a file"),
    ("append inlined", "append inlined"),
    ("append a file", "append inlined"),
    ("add column", "append a file"),
    ("create free", "append a file"),
    ("append in n", "append a file"),
}


OURS = (
    *("append a file", "delete in a file", "delete few", "update", "merge new", "add column", "forbid null", "comment"),
    *("rename", "drop", "rename to free", "create free", "append in n", "drop namespace", "rename view", "drop view"),
)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", THEIRS)
def test_we_see_what_duckdb_did_before_us(first: str, template: Path, tmp_path: Path) -> None:
    for second in OURS:
        place = copy(template, tmp_path / second)

        def theirs(_: Lake, place: Place = place) -> None:
            with attached(place, "OVERRIDE_DATA_PATH true") as con:
                run(con, THEIRS[first])

        assert commits_after(place, CHANGES[second], theirs) == (first not in EXPECTED[second]), second
        content_of(place)


@pytest.mark.server
@pytest.mark.parametrize(("second", "first"), sorted(REFUSED_BY_DUCKDB | ACCEPTED_BY_DUCKDB))
def test_duckdb_sees_what_we_did_before_it(
    second: str, first: str, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place("postgresql")
    with connect(place) as session:
        fill(session)
        with duck(place) as con:
            con.execute("BEGIN")
            run(con, THEIRS[second])
            CHANGES[first](session)
            if (second, first) in ACCEPTED_BY_DUCKDB:
                con.execute("COMMIT")
            else:
                with pytest.raises(Exception, match=r"(?i)conflict|Transaction"):
                    con.execute("COMMIT")
        content(session)
