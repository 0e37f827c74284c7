from __future__ import annotations

from pathlib import Path

import pytest

from quacklake.storage.paths import absolute, as_folder, is_url, join, same_folder


@pytest.mark.parametrize(
    ("parent", "path", "is_relative", "expected"),
    [
        ("/data/", "main/", True, "/data/main/"),
        ("s3://bucket/data/", "main/t/x.parquet", True, "s3://bucket/data/main/t/x.parquet"),
        ("/data/", "/else/where.parquet", False, "/else/where.parquet"),
        ("/data/", "gs://bucket/x.parquet", False, "gs://bucket/x.parquet"),
        ("/data/", None, None, "/data/"),
        ("/data/", "", True, "/data/"),
    ],
)
def test_each_level_is_below_the_one_above_or_stands_for_itself(
    parent: str, path: str | None, is_relative: bool | None, expected: str
) -> None:
    assert join(parent, path, is_relative) == expected


def test_a_path_that_is_not_absolute_starts_at_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("data/") == f"{tmp_path}/data/"
    assert absolute("./data/x") == f"{tmp_path}/data/x"
    assert absolute("/data/") == "/data/"
    assert absolute("s3://b/data/") == "s3://b/data/"
    assert join("/lake/", "elsewhere/x.parquet", False) == f"{tmp_path}/elsewhere/x.parquet"
    monkeypatch.chdir("/")
    assert absolute("data/") == "/data/"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("data", "data/"), ("data/", "data/"), ("data//", "data/"), ("/", "/"), ("s3://b", "s3://b/")],
)
def test_a_folder_ends_with_one_slash(path: str, expected: str) -> None:
    assert as_folder(path) == expected


def test_spellings_of_one_folder_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for spelling in ("data", "data/", "./data", "x/../data//", f"{tmp_path}/data", f"file://{tmp_path}/data"):
        assert same_folder(spelling, "data/")
    for spelling in ("data2", "Data", "/data", "s3://b/data", "data/x"):
        assert not same_folder(spelling, "data/")
    assert same_folder("s3://b/data", "s3://b/data/")
    assert not same_folder("s3://b/data", "gs://b/data/")


def test_urls_are_told_from_paths() -> None:
    assert is_url("s3://b/x")
    assert is_url("file:///x")
    assert not is_url("/x/y")
    assert not is_url("C:/x")
