"""One tree of errors, drawn where it is defined."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from quacklake import errors
from quacklake.errors import Conflict, ConflictError, MissingExtraError, QuacklakeError
from tests.shape.sources import modules

TREE = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == errors.__name__
]


def test_every_error_is_in_the_tree() -> None:
    assert [each.__name__ for each in TREE if not issubclass(each, QuacklakeError)] == []


def test_every_error_lives_in_one_module() -> None:
    known = {each.__name__ for each in TREE}
    stray = [
        f"{module}: {name}"
        for module in modules()
        if module.name != "errors"
        for name in re.findall(r"^class (\w+(?:Error|Exception))\b", module.text, re.MULTILINE)
        if name not in known
    ]
    assert stray == []


def test_kinds_are_unique_and_read_as_codes() -> None:
    kinds = [each.kind for each in TREE if issubclass(each, QuacklakeError)]
    assert len(set(kinds)) == len(kinds)
    assert [kind for kind in kinds if not re.fullmatch(r"[a-z]+(_[a-z]+)*", kind)] == []


def test_the_drawing_shows_every_error_under_its_parent() -> None:
    drawing = errors.__doc__ or ""
    drawn: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in drawing.splitlines():
        found = re.match(r"^([\s│├└─]*)(\w+Error)\b", line)
        if found is None:
            continue
        depth = len(found[1])
        path = [each for each in path if each[0] < depth]
        drawn[found[2]] = path[-1][1] if path else None
        path.append((depth, found[2]))
    real = {
        each.__name__: next((base.__name__ for base in each.__bases__ if issubclass(base, QuacklakeError)), None)
        for each in TREE
    }
    assert drawn == real


def test_the_drawing_shows_the_builtin_parents() -> None:
    for each in TREE:
        for base in each.__bases__:
            if base.__module__ == "builtins" and base is not Exception:
                assert re.search(rf"\b{each.__name__} \({base.__name__}\)", errors.__doc__ or "")


@pytest.mark.parametrize("kind", TREE, ids=lambda each: each.__name__)
def test_every_error_is_documented_keeps_its_hint_and_pickles(kind: type[QuacklakeError]) -> None:
    assert inspect.getdoc(kind)
    error = kind("the thing, the reason", hint="the next step")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.hint, copy.kind) == (kind, error.message, error.hint, kind.kind)
    assert str(copy) == "the thing, the reason (the next step)"


def test_conflicts_travel_with_their_error() -> None:
    conflict = Conflict("deleted rows", "dropped the table", "main.t", 7)
    copy = pickle.loads(pickle.dumps(ConflictError("main.t has changed", conflicts=(conflict,))))
    assert copy.conflicts == (conflict,)
    assert str(conflict) == "main.t: deleted rows, but another writer dropped the table in snapshot 7"


def test_a_missing_extra_says_how_to_get_it() -> None:
    error = MissingExtraError.for_extra("pyspark", "spark")
    assert isinstance(error, ImportError)
    assert "pip install 'quacklake[spark]'" in str(error)
