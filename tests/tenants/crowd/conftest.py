"""One database for all tests of this folder, in which another catalog is changed all the time."""

from __future__ import annotations

import hashlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

import quacklake as ql
from tests.lakes import Place
from tests.servers import Server

ROOT = Path(__file__).parents[3]
_SERVERS = {"postgres": "postgresql", "mysql": "mysql"}
KINDS = (
    "sqlite",
    *(pytest.param(name, marks=[pytest.mark.server, pytest.mark.slow]) for name in ("postgresql", "mysql")),
)

QUIET = {
    "test_append_takes_every_kind_of_frame",
    "test_a_transaction_over_many_tables_is_one_snapshot_with_its_author_and_message",
    "test_a_transaction_is_one_snapshot_over_many_tables",
    "test_bad_data_is_refused_and_leaves_nothing_behind",
    "test_settings_hold_for_the_lake_a_namespace_or_a_table",
    "test_many_steps_on_one_table_come_down_to_what_they_lead_to",
    "test_a_session_that_only_reads_refuses_to_write",
    "test_a_table_of_the_past_refuses_to_change",
    "test_schema_merge_adds_columns_and_widens_types_in_the_same_commit",
    "test_the_past_and_a_read_only_session_cannot_be_written",
    "test_a_feed_has_the_snapshot_the_row_id_and_the_type_of_each_change_before_the_columns",
    "test_both_ends_of_the_range_are_in_it",
    "test_without_an_end_the_range_ends_where_the_table_is_read",
    "test_columns_predicates_and_limits_are_those_of_what_comes_out",
    "test_columns_of_the_table_hide_those_of_the_feed_from_predicates",
    "test_what_cannot_be_asked_is_refused_by_name",
    "test_a_plan_pickles_and_says_what_it_reads",
    "test_other_databases_tell_the_same_of_what_we_wrote",
    "test_an_age_of_nothing_expires_all_but_the_newest",
    "test_a_dry_run_changes_nothing_and_says_the_same",
    "test_the_setting_of_the_lake_counts_when_nobody_says_anything",
    "test_ids_choose_and_the_newest_stays_whoever_asks",
    "test_sessions_that_read_do_not_maintain",
    "test_what_makes_no_sense_is_refused_by_name",
    "test_scheduled_files_are_deleted_and_forgotten",
    "test_eight_threads_append_and_every_row_is_there_once",
}
"""Tests that name ids. A catalog that is the only one in its database has the same as a lake: there they run."""
ON_DISK = {
    "test_moments_of_snapshots_never_go_back",
    "test_a_delete_file_that_replaces_another_says_the_right_snapshots_after_a_race",
    "test_a_moment_without_a_zone_is_in_the_zone_of_this_machine",
}
"""Tests that open the catalog as a SQLite file, or count on ids without gaps, as only files have them, or on moments
that are finer than a second, as MySQL has none."""
ELSEWHERE = {
    "test_a_lake_of_another_version_is_not_written",
    "test_damage_is_found_and_named",
    "test_a_life_in_sql",
    "test_eight_processes_append_and_every_row_is_there_once",
    "test_a_writer_that_is_killed_leaves_the_lake_as_it_was",
    "test_we_and_duckdb_append_at_the_same_time",
    "test_a_file_that_cannot_be_deleted_stays_scheduled_and_is_named",
    "test_the_setting_of_the_lake_counts_for_both_kinds_of_files",
    "test_old_files_that_nothing_leads_to_are_deleted",
    "test_links_neither_hide_files_nor_lead_away",
}
"""Tests of what a shared database never is (of an old version, damaged, DuckDB's), and of other processes, which open
what lake they are told. `tests/tenants/test_chaos.py` kills writers of catalogs. The last four name the folder of the
lake in what they expect, and that of a catalog is called otherwise."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A database that many catalogs share."""

    kind: str
    url: str
    data_path: str


@pytest.fixture(scope="module", params=KINDS)
def crowd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    """The database, with a catalog in it that never rests."""
    folder = tmp_path_factory.mktemp("crowd")
    if request.param == "sqlite":
        made = Crowd("sqlite", f"sqlite:///{folder / 'shared.db'}", f"{folder / 'data'}/")
    else:
        server: Server = request.getfixturevalue(f"{request.param}_server")
        made = Crowd(server.kind, server.url(server.create_database()), f"{folder / 'data'}/")
    ql.tenants(made.url, made.data_path).close()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tenants.hammer", made.url, "noise"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield made
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err[-3000:]
    assert int(out) > 0


def tenant_of(request: pytest.FixtureRequest, url: object) -> str:
    """What the catalog is called that stands for a lake of a test."""
    return hashlib.sha256(f"{request.node.nodeid} {url}".encode()).hexdigest()[:20]


@pytest.fixture(autouse=True)
def inside(crowd: Crowd, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lake a test opens is a catalog in the crowd, or the only one in a database, where a test needs that."""
    test = request.node.originalname
    if test in ON_DISK and crowd.kind != "sqlite":
        pytest.skip("the test is about catalogs that are files")
    real, databases = ql.connect, dict[str, str]()

    def connect_quietly(url: Any, data_path: Any = None, **settings: Any) -> ql.Session:
        if crowd.kind != "sqlite" and str(url) not in databases:
            server: Server = request.getfixturevalue(f"{_SERVERS[crowd.kind]}_server")
            databases[str(url)] = server.url(server.create_database())
            data_path = data_path or f"{str(url).split('///')[-1]}.files/"
        return real(databases.get(str(url), url), data_path, catalog="only", **settings)

    def connect(url: Any, data_path: Any = None, **settings: Any) -> ql.Session:
        name = tenant_of(request, url)
        folder = Path(crowd.data_path) / name
        if not folder.exists():
            # Tests that look at files look where the lake would have them.
            place = Path(data_path or f"{str(url).split('///')[-1]}.files")
            place.mkdir(parents=True, exist_ok=True)
            folder.parent.mkdir(exist_ok=True)
            folder.symlink_to(place)
        settings.pop("override_data_path", None)
        return real(crowd.url, catalog=name, **settings)

    monkeypatch.setattr(ql, "connect", connect_quietly if test in QUIET | ON_DISK else connect)


@pytest.fixture
def backend(crowd: Crowd, tmp_path: Path) -> Place:
    """Where tests believe their lake to be."""
    return Place(crowd.kind, "", f"sqlite:///{tmp_path}/own.db", f"{tmp_path / 'own_data'}/")


def suite_of(module: Any) -> dict[str, Any]:
    """The tests of another module, with the fixtures that they use. DuckDB refuses databases that catalogs share."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FixtureFunctionDefinition)
        or (name.startswith("test_") and name not in ELSEWHERE and "duck" not in inspect.signature(value).parameters)
    }
