"""Opening one of many catalogs: found, made, or refused with the way out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place

ROOT = Path(__file__).parents[2]


def test_a_catalog_is_made_and_found_again_with_its_folder_below_that_of_the_database(backend: Place) -> None:
    with ql.connect(backend.url, backend.data_path, catalog="wb_abc", engine="local") as session:
        session.create_table("t", "a INT").append(pa.table({"a": range(30)}))
    with ql.connect(backend.url, catalog="wb_abc", engine="local", create=False, read_only=True) as session:
        assert session.table("t").count() == 30
        assert session.current_snapshot == 2
        assert all(
            file.path.startswith(f"{backend.data_path}wb_abc/main/t/")
            for file in session.table("t").scan().plan().files
        )
        with pytest.raises(ql.ReadOnlyError):
            session.table("t").truncate()


def test_what_is_missing_or_too_much_is_said_with_the_way_out(tmp_path: Path) -> None:
    shared, alone = f"sqlite:///{tmp_path}/shared.db", f"sqlite:///{tmp_path}/alone.db"
    ql.connect(shared, catalog="here", engine="local").close()
    ql.connect(alone, engine="local").close()
    with pytest.raises(ql.InvalidInputError, match="catalog is required") as error:
        ql.connect(shared, engine="local")
    assert "ql.tenants(url).list()" in str(error.value.hint)
    with pytest.raises(ql.InvalidInputError, match="has its database for itself") as error:
        ql.connect(alone, catalog="here", engine="local")
    assert "migrate" in str(error.value.hint)
    with pytest.raises(ql.NotFoundError, match="there is no catalog 'gone'") as missing:
        ql.connect(shared, catalog="gone", engine="local", create=False)
    assert "list()" in str(missing.value.hint)
    with pytest.raises(ql.NotFoundError) as missing:
        ql.connect(shared, catalog="HERE", engine="local", read_only=True)
    assert "'here'" in str(missing.value.hint)
    with pytest.raises(ql.NotInitializedError):
        ql.connect(f"sqlite:///{tmp_path}/none.db", catalog="here", engine="local", create=False)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        ".",
        "..",
        "...",
        "a.",
        "a/b",
        "../up",
        "a\\b",
        "/abs",
        "a\nb",
        "a\x00b",
        " a",
        "a ",
        "x" * 201,
        "é" * 101,
        "c:d",
        "a%2fb",
        "a\u202eb",
    ],
)
def test_names_that_are_no_good_as_folders_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ql.InvalidInputError, match="is no name for a catalog"):
        ql.connect(f"sqlite:///{tmp_path}/shared.db", catalog=name, engine="local")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "wb-1.x_Y", "ein Name", "größe", "日本", "it's", "x" * 200, "select"])
def test_any_other_name_is_kept_as_it_is_written(backend: Place, name: str) -> None:
    with ql.connect(backend.url, backend.data_path, catalog=name, engine="local") as session:
        session.create_table("t", "a INT").append(pa.table({"a": range(30)}))
        assert session.check() == []
        assert (Path(backend.data_path) / name / "main" / "t").is_dir()


def test_names_that_differ_in_case_alone_are_not_two_catalogs(backend: Place) -> None:
    ql.connect(backend.url, backend.data_path, catalog="Größe", engine="local").close()
    for name in ("größe", "GRÖSSE", "Gro\u0308ße"):
        with pytest.raises(ql.AlreadyExistsError, match="nothing but case"):
            ql.connect(backend.url, catalog=name, engine="local")


def test_a_data_path_is_that_of_the_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    with ql.connect(url, tmp_path / "data", catalog="a", engine="local") as session:
        session.create_table("t", "a INT").append(pa.table({"a": range(30)}))
    for given in (tmp_path / "data", tmp_path / "data" / "a"):
        ql.connect(url, given, catalog="a", engine="local").close()
    with pytest.raises(ql.InvalidInputError, match="keeps its files in"):
        ql.connect(url, tmp_path / "other", catalog="a", engine="local")
    (tmp_path / "data").rename(tmp_path / "moved")
    with ql.connect(url, tmp_path / "moved", catalog="a", engine="local", override_data_path=True) as session:
        assert session.table("t").to_arrow().num_rows == 30


def test_one_catalog_can_be_encrypted_and_another_not(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    for name, encrypted in (("open", False), ("secret", True)):
        with ql.connect(url, catalog=name, encrypted=encrypted, engine="local") as session:
            session.create_table("t", "a INT").append(pa.table({"a": range(30)}))
    for name, encrypted in (("open", False), ("secret", True)):
        with ql.connect(url, catalog=name, engine="local") as session:
            assert session.table("t").to_arrow().num_rows == 30
            assert all(bool(file.encryption_key) is encrypted for file in session.table("t").scan().plan().files)
    with pytest.raises(ql.InvalidInputError, match="not encrypted"):
        ql.connect(url, catalog="open", encrypted=True, engine="local")


_CREATOR = """
import sys, quacklake as ql
sys.stdin.readline()
with ql.connect(sys.argv[1], sys.argv[2], catalog="same", engine="local") as session:
    print(session._catalog.catalog_id, session.current_snapshot)
"""


@pytest.mark.parametrize(
    "kind",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.server), pytest.param("mysql", marks=pytest.mark.server)],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_processes_that_make_the_same_catalog_at_once_get_one(
    kind: str, is_there: bool, new_place: Callable[[str], Place]
) -> None:
    place = new_place(kind)
    if is_there:
        ql.connect(place.url, place.data_path, catalog="first", engine="local").close()
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _CREATOR, place.url, place.data_path],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = [process.communicate("go\n", timeout=120) for process in started]
    assert [error for _, error in said] == [""] * 4
    assert len({words for words, _ in said}) == 1
    with ql.connect(place.url, catalog="same", engine="local") as session:
        assert session.check() == []
