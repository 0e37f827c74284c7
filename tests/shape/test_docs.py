"""The pages for people keep up with the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import typer

from quacklake.cli.app import app
from tests.shape.sources import ROOT, modules

COMMANDS = sorted(info.name or info.callback.__name__ for info in app.registered_commands if info.callback)
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_described_on_its_page(command: str) -> None:
    assert f"## `{command}" in (ROOT / "docs" / "cli.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_described_on_its_page(command: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    section = re.split(r"^## ", page.split(f"## `{command}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    options = [name for each in found.params for name in each.opts if name.startswith("--")]
    assert [name for name in options if f"`{name}" not in section] == []


@pytest.mark.parametrize("group", [info.name or "" for info in app.registered_groups])
def test_every_verb_of_a_group_is_described_with_its_options(group: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    section = re.split(r"^## ", page.split(f"## `{group}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    verbs = typer.main.get_command(app).commands[group].commands  # type: ignore[attr-defined]
    options = {name for verb in verbs.values() for each in verb.params for name in each.opts if name.startswith("--")}
    assert [name for name in (*verbs, *sorted(options)) if f"`{name}" not in section] == []


def test_every_global_option_is_described() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    options = [name for each in typer.main.get_command(app).params for name in each.opts if name.startswith("--")]
    assert [name for name in options if f"`{name}" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_begins_with_the_two_commands() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:25])
    assert re.findall(r"^\s*make (\w+)", first_screen, re.MULTILINE) == ["demo", "test"]


def test_every_target_of_the_makefile_says_what_it_does() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert phony is not None
    described = re.findall(r"^([a-z]+):.*## \w", text, re.MULTILINE)
    assert sorted(phony[1].split()) == sorted(described)


def test_every_extra_that_an_error_names_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = [
        (str(module), extra)
        for module in modules()
        for extra in re.findall(r'for_extra\("[\w-]+", "(\w+)"\)', module.text)
    ]
    assert named != []
    assert [each for each in named if each[1] not in extras] == []


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    names = {re.split(r"[\[<>=!~ ]", each, maxsplit=1)[0].lower() for each in wanted} - {"quacklake"}
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[\w.]+", line)] == []
    assert names <= {line.partition("==")[0] for line in pins}
