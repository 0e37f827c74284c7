"""What conflicts with what, rule by rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from quacklake.commit.applied import WORDS, Applied, parse_applied
from quacklake.commit.conflicts import RULES, Claim, Happened, Rule, find_conflicts, render_rules

DOCS = Path(__file__).parents[2] / "docs" / "conflicts.md"


def other(word: str, **about: object) -> Happened:
    return Happened(7, Applied(word, **about))  # type: ignore[arg-type]


def _pair(rule: Rule, word: str) -> tuple[Claim, Happened]:
    """A claim and a deed that share what the rule asks for."""
    claim = Claim(rule.mine, "main.t", 1, "main", "t", frozenset((5, 6)), frozenset((1, 2)))
    by_name = WORDS.get(word) in ("name", "namespace")
    name = None if WORDS.get(word) == "namespace" else "T"
    what = Applied(word, namespace="MAIN", name=name) if by_name else Applied(word, 1)
    if rule.mine == "create namespace":
        claim = Claim(rule.mine, "main", namespace="main")
    return claim, Happened(7, what, frozenset((6,)))


@pytest.mark.parametrize(
    ("rule", "word"),
    [(rule, word) for rule in RULES for word in rule.theirs],
    ids=lambda each: str(getattr(each, "mine", each)),
)
def test_every_rule_finds_what_it_is_about(rule: Rule, word: str) -> None:
    claim, happened = _pair(rule, word)
    (conflict,) = find_conflicts([claim], [happened])
    assert conflict.snapshot_id == 7
    assert rule.mine in conflict.mine
    assert conflict.subject in ("main.t", "main")


@pytest.mark.parametrize(
    ("rule", "word"),
    [(rule, word) for rule in RULES for word in rule.theirs],
    ids=lambda each: str(getattr(each, "mine", each)),
)
def test_what_happens_elsewhere_does_not_matter(rule: Rule, word: str) -> None:
    claim, happened = _pair(rule, word)
    by_name = WORDS.get(word) in ("name", "namespace")
    elsewhere = Applied(word, namespace="other", name="x") if by_name else Applied(word, 99)
    assert find_conflicts([claim], [Happened(7, elsewhere, happened.files)]) == ()


def test_appends_commute() -> None:
    others = [other("inserted_into_table", id=1), other("inlined_insert", id=1)]
    assert find_conflicts([Claim("append", "t", 1), Claim("insert", "t", 1)], others) == ()


def test_an_append_on_its_own_does_not_mind_deletes_but_one_in_a_transaction_does() -> None:
    others = [other("deleted_from_table", id=1)]
    assert find_conflicts([Claim("append", "t", 1)], others) == ()
    assert len(find_conflicts([Claim("insert", "t", 1)], others)) == 1


def test_inserts_that_depend_on_rows_conflict_with_new_rows() -> None:
    assert len(find_conflicts([Claim("insert by condition", "t", 1)], [other("inlined_insert", id=1)])) == 1


def test_deletes_of_different_files_commute_and_of_the_same_file_do_not() -> None:
    claim = Claim("delete in files", "t", 1, files=frozenset((5,)))
    what = Applied("deleted_from_table", 1)
    assert find_conflicts([claim], [Happened(7, what, frozenset((6,)))]) == ()
    assert len(find_conflicts([claim], [Happened(7, what, frozenset((5, 6)))])) == 1


@pytest.mark.parametrize("mine", ["delete in files", "delete in catalog"])
@pytest.mark.parametrize("theirs", ["inlined_delete", "merge_adjacent", "rewrite_delete", "inline_flush"])
def test_no_delete_is_lost_between_the_catalog_and_files_that_move(mine: str, theirs: str) -> None:
    claim = Claim(mine, "t", 1, files=frozenset((5,)))  # type: ignore[arg-type]
    assert len(find_conflicts([claim], [other(theirs, id=1)])) == 1


@pytest.mark.parametrize("mine", ["flush", "compact"])
@pytest.mark.parametrize("theirs", ["inlined_delete", "deleted_from_table"])
def test_maintenance_brings_no_deleted_row_back(mine: str, theirs: str) -> None:
    assert len(find_conflicts([Claim(mine, "t", 1)], [other(theirs, id=1)])) == 1  # type: ignore[arg-type]


def test_a_word_of_a_newer_version_conflicts_with_whatever_it_may_have_touched() -> None:
    (known,) = parse_applied("vectorized_table:4")
    assert find_conflicts([Claim("append", "t", 1)], [Happened(7, known)]) == ()
    assert len(find_conflicts([Claim("append", "t", 4)], [Happened(7, known)])) == 1
    assert len(find_conflicts([Claim("create namespace", "n", namespace="n")], [Happened(7, known)])) == 1
    (unclear,) = parse_applied("did_something:everywhere")
    assert len(find_conflicts([Claim("append", "t", 1)], [Happened(7, unclear)])) == 1


def test_the_page_for_people_has_the_table_as_the_code_has_it() -> None:
    assert render_rules() in DOCS.read_text()
