"""Small modules with plain names, no swallowed errors, nothing left lying about."""

from __future__ import annotations

import ast
import re
import subprocess

from tests.shape.sources import ROOT, Module, modules

MOST_LINES = 450
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "base", "impl", "core", "lib"}
EDGES = ("cli.edge",)
"""The only places where any error at all may be caught: there it becomes words."""


def test_no_module_is_longer_than_a_few_screens() -> None:
    sizes = {str(module): module.text.count("\n") for module in modules()}
    assert {name: lines for name, lines in sizes.items() if lines > MOST_LINES} == {}


def test_modules_are_named_after_things() -> None:
    assert [str(module) for module in modules() if set(module.name.split(".")) & VAGUE] == []


def test_classes_are_named_after_things() -> None:
    vague = re.compile(r"(Manager|Helper|Utils?|Impl|Base)$|^(Base|Abstract)[A-Z]")
    classes = [
        f"{module}: {node.name}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    ]
    assert [each for each in classes if vague.search(each.rpartition(" ")[2])] == []


def _broad(module: Module) -> list[str]:
    found = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        names = {"everything"} if node.type is None else {ast.unparse(each) for each in _kinds(node.type)}
        again = any(isinstance(each, ast.Raise) and each.exc is None for each in node.body)
        # Cleaning up and raising the same error again hides nothing.
        if names & {"everything", "Exception", "BaseException"} and not again:
            found.append(f"{module}:{node.lineno}")
    return found


def _kinds(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def test_no_error_is_swallowed_outside_the_edges() -> None:
    assert [place for module in modules() if module.name not in EDGES for place in _broad(module)] == []


def test_every_module_says_what_it_is() -> None:
    silent = [str(module) for module in modules() if module.text.strip() and not ast.get_docstring(module.tree)]
    assert silent == []


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_no_file_knows_one_machine() -> None:
    # Homes of people and addresses of package registries: what holds on one machine only.
    pattern = re.compile(r"(?<![\w.])/(?:home|root|work|Users)/\w|files\.\w+hosted\.|https?://[^\s\"']+/simple\b")
    found = []
    for name in _tracked():
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{name}:{number}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]
    assert found == []


def test_nothing_is_left_for_later_in_the_source() -> None:
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\bbreakpoint\(\)|^\s*print\(", re.MULTILINE)
    assert [str(module) for module in modules() if pattern.search(module.text)] == []
