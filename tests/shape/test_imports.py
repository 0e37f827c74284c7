"""The import rule holds: the flow of the data is the order of the folders."""

from __future__ import annotations

import sys
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.shape.rule import HOMES, MAY_IMPORT, part_of, render_homes, render_parts
from tests.shape.sources import ROOT, Import, Module, modules

PACKAGE = "quacklake"


def _ours(module: Module) -> list[tuple[str, Import]]:
    found = [each for each in module.imports() if each.top == PACKAGE]
    return [(each.module.partition(".")[2] or "__init__", each) for each in found]


def test_every_module_belongs_to_a_part_of_the_table() -> None:
    homeless = [str(module) for module in modules() if part_of(module.name, MAY_IMPORT) is None]
    assert homeless == [], "give them a row in tests/shape/rule.py"


def test_every_import_is_allowed_by_the_table() -> None:
    wrong = []
    for module in modules():
        part = part_of(module.name, MAY_IMPORT)
        assert part is not None
        for target, each in _ours(module):
            wanted = part_of(target, MAY_IMPORT)
            if wanted != part and (wanted is None or wanted not in MAY_IMPORT[part]):
                wrong.append(f"{module}:{each.line} imports {target}")
    assert wrong == []


def test_the_parts_of_the_table_form_no_circle() -> None:
    # Ground modules and the front door name each other in types; as groups they are one place each.
    group = {part: _group(part) for part in MAY_IMPORT}
    graph = {
        group[part]: {group[each] for each in allowed if group[each] != group[part]}
        for part, allowed in MAY_IMPORT.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"the table goes round in a circle: {error.args[1]}")


def _group(part: str) -> str:
    same = [each for each, allowed in MAY_IMPORT.items() if part in allowed and each in MAY_IMPORT[part]]
    return min([part, *same])


def test_modules_do_not_load_each_other_in_a_circle() -> None:
    names = {module.name for module in modules()}
    graph: dict[str, set[str]] = {}
    for module in modules():
        loads = [target for target, each in _ours(module) if not each.type_only and not each.lazy]
        graph[module.name] = {target for target in loads if target in names and target != module.name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules load each other: {' -> '.join(error.args[1])}")


def test_every_library_is_loaded_only_in_its_home() -> None:
    wrong = []
    for module in modules():
        for each in module.imports():
            if each.top == PACKAGE or each.top in sys.stdlib_module_names or each.type_only:
                continue
            if part_of(module.name, HOMES.get(each.top, ())) is None:
                wrong.append(f"{module}:{each.line} loads {each.module}")
    assert wrong == []


def test_a_type_checking_block_is_told_apart_from_real_imports() -> None:
    found = {each.module: each for module in modules() if module.name == "scan" for each in module.imports()}
    assert found["pyspark.sql"].type_only
    assert found["polars"].type_only or found["polars"].lazy
    assert not found["quacklake.errors"].type_only
    assert not found["quacklake.errors"].lazy


@pytest.mark.parametrize("folder", ["plan", "storage", "catalog", "catalog.backends", "engine", "commit", "cli"])
def test_opening_a_folder_loads_nothing(folder: str) -> None:
    # So that `from quacklake.engine.protocol import Engine` never drags in Spark, nor `catalog.view` a driver.
    inits = [module for module in modules() if module.path.name == "__init__.py" and module.name != "__init__"]
    inside = [module for module in inits if module.name == folder]
    assert [module.text.strip() for module in inside] == [""]


@pytest.mark.parametrize("table", [render_parts(), render_homes()], ids=["parts", "homes"])
def test_the_architecture_page_shows_the_tables(table: str) -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert table in page, f"put this into ARCHITECTURE.md:\n{table}"
