"""Errors are words on stderr and an exit code; secrets are in neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from quacklake.cli.edge import redact, secrets_of
from quacklake.errors import StorageError
from tests.cli.conftest import Run


def test_an_unknown_table_is_an_error_with_a_hint(quacklake: Run) -> None:
    found = quacklake("show", "event")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("Error: there is no table main.event")
    assert "Hint: did you mean main.events" in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize(
    "args",
    [
        ("scan", "events", "--where", "nope = 1"),
        ("scan", "events", "--where", "id ="),
        ("scan", "events", "--columns", "nope"),
        ("files", "nope.events"),
        ("tables", "--namespace", "nope"),
        ("scan", "events", "--at", "999"),
        ("--at", "999", "tables"),
        ("--at", "1999-12-31", "tables"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_exits_with_1(quacklake: Run, args: tuple[str, ...]) -> None:
    found = quacklake(*args)
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("Error: ")
    assert "should not happen" not in found.err


@pytest.mark.parametrize(
    "args",
    [
        ("tables", "--nope"),
        ("nope",),
        ("scan",),
        ("scan", "events", "--limit", "-1"),
        ("scan", "events", "--format", "xml"),
        ("scan", "events", "--at", "yesterday"),
        ("--engine", "turbo", "tables"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_exits_with_2(quacklake: Run, args: tuple[str, ...]) -> None:
    found = quacklake(*args)
    assert (found.code, found.out) == (2, "")
    assert found.err != ""


def test_no_lake_at_all_is_a_wrong_call(quacklake: Run) -> None:
    found = quacklake("tables", lake=None)
    assert found.code == 2
    assert "QUACKLAKE_LAKE" in found.err


def test_the_lake_may_come_from_the_environment(quacklake: Run, lake: str) -> None:
    found = quacklake("tables", lake=None, env={"QUACKLAKE_LAKE": lake, "QUACKLAKE_AT": "2"})
    assert found.out.split() == ["name", "kind", "main.events", "table"]


def test_a_lake_that_is_not_there_is_not_made(quacklake: Run, tmp_path: Path) -> None:
    found = quacklake("tables", lake=f"sqlite:///{tmp_path / 'no.db'}")
    assert found.code == 1
    assert found.err.startswith("Error: ")
    assert "should not happen" not in found.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_lake_is_an_error(quacklake: Run, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is not a database at all, " * 100)
    found = quacklake("tables", lake=f"sqlite:///{tmp_path / 'text.db'}")
    assert found.code == 1
    assert found.err.startswith("Error: ")
    assert "should not happen" not in found.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://someone:pa55%40word@127.0.0.1:1/db",
        "mysql://someone:pa55%40word@127.0.0.1:1/db",
        "ducklake:postgres:host=127.0.0.1 port=1 dbname=db user=someone password=pa55@word",
    ],
)
def test_a_password_is_never_printed(quacklake: Run, url: str) -> None:
    for args in (("tables",), ("--json", "show", "t"), ("tables", "--nope")):
        found = quacklake(*args, lake=url)
        assert found.code in (1, 2)
        assert "pa55" not in found.out + found.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at postgresql://u:secret@h/db", "at postgresql://u:***@h/db"),
        ("at postgresql://:secret@h/db", "at postgresql://:***@h/db"),
        ("at postgresql://u:a:b@h/db and s3://bucket/x@y", "at postgresql://u:***@h/db and s3://bucket/x@y"),
        ("host=h password=secret dbname=d", "host=h password=*** dbname=d"),
        ("PWD = 'two words'", "PWD = ***"),
        ("aws_secret_access_key=abc&token=def", "aws_secret_access_key=***&token=***"),
        ("nothing at 12:30 @home", "nothing at 12:30 @home"),
    ],
)
def test_secrets_are_taken_out_of_any_text(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_a_password_is_recognised_in_every_spelling() -> None:
    secrets = secrets_of("postgresql://u:p%40ss%2Fw@h/db")
    assert set(secrets) == {"p%40ss%2Fw", "p@ss/w"}
    assert redact("wrong password p@ss/w (p%40ss%2Fw)", secrets) == "wrong password *** (***)"


def test_an_unforeseen_error_is_words_too(quacklake: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the cable came out of postgresql://u:secret@h/db")

    monkeypatch.setattr("quacklake.session.Session.tables", fail)
    found = quacklake("tables")
    assert found.code == 1
    assert found.err.startswith("Error: RuntimeError: the cable came out of postgresql://u:***@h/db\n")
    assert "QUACKLAKE_DEBUG=1" in found.err
    with pytest.raises(RuntimeError):
        quacklake("tables", env={"QUACKLAKE_DEBUG": "1"})


def test_a_storage_error_is_not_taken_for_a_broken_pipe(quacklake: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StorageError("data/x.parquet is gone")

    monkeypatch.setattr("quacklake.session.Session.tables", fail)
    found = quacklake("tables")
    assert (found.code, found.err) == (1, "Error: data/x.parquet is gone\n")


@pytest.mark.parametrize("command", [(), ("tables",), ("show",), ("snapshots",), ("scan",), ("files",), ("explain",)])
def test_help_has_an_example(quacklake: Run, command: tuple[str, ...]) -> None:
    found = quacklake(*command, "--help", lake=None)
    assert found.code == 0
    assert "Example: quacklake --lake" in found.out
