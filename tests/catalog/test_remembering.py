"""An open catalog remembers how tables look, and never shows one as it no longer is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import quacklake as ql
from quacklake.catalog.url import parse_url
from tests.conftest import Duck
from tests.lakes import Place


def test_changes_of_others_show_at_once(backend: Place, duck: Duck) -> None:
    with (
        ql.connect(backend.url, backend.data_path, engine="local") as mine,
        ql.connect(backend.url, engine="local") as other,
    ):
        mine.create_table("t", "a INT")
        assert mine.table("t").schema.names == ("a",)
        other.table("t").append([{"a": 1}])
        assert mine.table("t").count() == 1
        other.table("t").add_column("b", "INT")
        assert mine.table("t").schema.names == ("a", "b")
        other.table("t").set_comment("words")
        assert mine.table("t").comment == "words"
        first = mine.current_snapshot
        other.table("t").drop_column("a")
        other.table("t").append([{"b": 2}])
        assert mine.table("t").schema.names == ("b",)
        assert mine.table("t", at=first).schema.names == ("a", "b")
        other.drop_table("t")
        other.create_table("t", "c INT")
        assert mine.table("t").schema.names == ("c",)


def test_a_lake_in_the_place_of_another_is_not_taken_for_it(new_place: Callable[[str], Place]) -> None:
    place = new_place("sqlite")
    path = parse_url(place.url).path
    assert path is not None
    kept = Path(f"{path}.kept")
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "a INT")
    path.rename(kept)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "b INT")
        session.table("t").append([{"b": 1}])
        assert session.table("t").schema.names == ("b",)
        # Into the same file, for an open connection holds on to that.
        path.write_bytes(kept.read_bytes())
        assert session.table("t").schema.names == ("a",)
