"""The names that users type are those in `__all__`, and all of them work."""

from __future__ import annotations

import inspect
import types

import pytest

import quacklake
from quacklake import errors


@pytest.mark.parametrize("name", quacklake.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(quacklake, name) is not None


def test_the_list_is_sorted_and_has_no_doubles() -> None:
    assert quacklake.__all__ == sorted(set(quacklake.__all__))


def test_nothing_else_is_public() -> None:
    foreign = {"annotations", "TYPE_CHECKING", "Any"}
    found = {
        name
        for name, value in vars(quacklake).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name not in foreign
    }
    assert found <= set(quacklake.__all__)


def test_every_lazy_name_is_public() -> None:
    assert set(quacklake._LAZY) <= set(quacklake.__all__)


def test_every_error_is_public() -> None:
    tree = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert tree <= set(quacklake.__all__)


def test_dir_shows_the_public_names() -> None:
    assert set(quacklake.__all__) <= set(dir(quacklake))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        quacklake.conect  # noqa: B018


@pytest.mark.parametrize("name", ["Session", "Table", "Scan", "connect"])
def test_every_public_method_has_a_docstring(name: str) -> None:
    value = getattr(quacklake, name)
    members = inspect.getmembers(value, lambda each: inspect.isfunction(each) or isinstance(each, property))
    silent = [f"{name}.{member}" for member, each in members if not member.startswith("_") and not inspect.getdoc(each)]
    assert inspect.getdoc(value)
    assert silent == []
