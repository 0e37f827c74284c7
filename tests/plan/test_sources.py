"""Where a column comes from in a file: by field id, by position, by mapped name, or from nowhere."""

from __future__ import annotations

import pytest

from quacklake.errors import StorageError
from quacklake.plan.layout import ROW_ID_FIELD, SNAPSHOT_ID_FIELD, FileColumn, FileLayout
from quacklake.plan.scan import MappedName, ScanFile
from quacklake.plan.sources import Constant, FromFile, Source, hive_value, resolve, resolve_inlined
from quacklake.schema import Column
from quacklake.types import ListOf, MapOf, Primitive, Struct

INT, TEXT = Primitive("int32"), Primitive("varchar")


def leaf(name: str, field_id: int | None = None, type_: str = "INTEGER") -> FileColumn:
    return FileColumn(name, field_id, "leaf", type_, "INT32")


def file(path: str = "/lake/main/t/x.parquet", mapping: tuple[MappedName, ...] | None = None) -> ScanFile:
    return ScanFile(1, path, 1, 1, 1, mapping=mapping)


def resolved(columns: tuple[FileColumn, ...], *wanted: Column, of: ScanFile | None = None) -> tuple[Source, ...]:
    return resolve(of or file(), FileLayout(columns, 1), wanted, wanted)


def name_in_file(source: Source) -> str:
    assert isinstance(source, FromFile)
    return source.source.name


def test_a_renamed_column_is_found_by_its_id() -> None:
    (source,) = resolved((leaf("other", 2), leaf("old", 1)), Column(1, "new", INT))
    assert name_in_file(source) == "old"


def test_a_new_column_with_an_old_name_is_not_taken_for_the_old_one() -> None:
    (source,) = resolved((leaf("a", 1),), Column(2, "a", INT))
    assert source == Constant(Column(2, "a", INT), None)


def test_a_missing_column_has_its_initial_default() -> None:
    (source,) = resolved((leaf("a", 1),), Column(2, "b", INT, initial_default="42"))
    assert isinstance(source, Constant)
    assert source.text == "42"


def test_a_file_without_ids_counts_by_position_whatever_the_names() -> None:
    columns = (Column(3, "c", INT), Column(5, "e", INT), Column(7, "g", INT, initial_default="1"))
    sources = resolve(file(), FileLayout((leaf("x"), leaf("y")), 1), columns[::-1], columns)
    assert sources[0] == Constant(columns[2], "1")
    assert [name_in_file(each) for each in sources[1:]] == ["y", "x"]


def test_one_column_without_an_id_makes_all_of_them_count_by_position() -> None:
    (first, second) = resolved((leaf("x", 2), leaf("y")), Column(1, "a", INT), Column(2, "b", INT))
    assert (name_in_file(first), name_in_file(second)) == ("x", "y")


def test_row_ids_and_snapshots_inside_a_file_are_no_columns_of_the_table() -> None:
    layout = FileLayout((leaf("r", ROW_ID_FIELD), leaf("s", SNAPSHOT_ID_FIELD), leaf("a", 1)), 1)
    assert layout.row_id is not None
    assert layout.snapshot_id is not None
    assert [column.name for column in layout.data_columns] == ["a"]


def test_a_name_alone_does_not_make_a_column_the_row_ids() -> None:
    layout = FileLayout((leaf("_ducklake_internal_row_id"),), 1)
    assert layout.row_id is None
    assert len(layout.data_columns) == 1


def struct_in_file(*fields: FileColumn, field_id: int | None = 1) -> FileColumn:
    return FileColumn("s", field_id, "struct", children=fields)


def test_fields_of_a_struct_are_found_by_id_and_new_ones_have_their_default() -> None:
    wanted = Column(1, "s", Struct((Column(3, "b", INT), Column(2, "renamed", INT), Column(4, "n", INT, True, "7"))))
    (source,) = resolved((struct_in_file(leaf("a", 2), leaf("b", 3)),), wanted)
    assert isinstance(source, FromFile)
    assert [name_in_file(each) for each in source.children[:2]] == ["b", "a"]
    assert source.children[2] == Constant(Column(4, "n", INT, True, "7"), "7")
    assert not source.is_identity


def test_fields_without_ids_are_found_by_name_without_case() -> None:
    wanted = Column(1, "s", Struct((Column(2, "a", INT), Column(3, "gone", INT))))
    (source,) = resolved((struct_in_file(leaf("A")),), wanted)
    assert isinstance(source, FromFile)
    assert name_in_file(source.children[0]) == "A"
    assert isinstance(source.children[1], Constant)


def test_an_element_and_the_parts_of_a_map_are_found_by_place() -> None:
    listed = FileColumn("l", 1, "list", children=(leaf("array"),))
    mapped = FileColumn("m", 3, "map", children=(leaf("k"), leaf("v")))
    of_list = Column(1, "l", ListOf(Column(2, "element", INT)))
    of_map = Column(3, "m", MapOf(Column(4, "key", INT), Column(5, "value", INT)))
    first, second = resolved((listed, mapped), of_list, of_map)
    assert isinstance(first, FromFile)
    assert isinstance(second, FromFile)
    assert [name_in_file(each) for each in first.children] == ["array"]
    assert [name_in_file(each) for each in second.children] == ["k", "v"]
    assert first.is_identity
    assert second.is_identity


def test_a_struct_that_became_json_is_taken_whole() -> None:
    (source,) = resolved((struct_in_file(leaf("a", 2)),), Column(1, "s", Primitive("json")))
    assert isinstance(source, FromFile)
    assert source.children == ()


def test_only_the_same_names_in_the_same_order_are_an_identity() -> None:
    inside = struct_in_file(leaf("a", 2), leaf("b", 3))
    same = Column(1, "other", Struct((Column(2, "a", INT), Column(3, "b", INT))))
    turned = Column(1, "s", Struct((Column(3, "b", INT), Column(2, "a", INT))))
    fewer = Column(1, "s", Struct((Column(2, "a", INT),)))
    identities = [resolved((inside,), each)[0] for each in (same, turned, fewer)]
    assert [isinstance(each, FromFile) and each.is_identity for each in identities] == [True, False, False]


def test_a_mapping_finds_columns_by_name_without_case_and_ignores_ids() -> None:
    mapping = (MappedName("Theirs", 1), MappedName("absent", 2))
    wanted = (Column(1, "ours", INT), Column(2, "b", INT, initial_default="5"), Column(3, "c", INT))
    sources = resolved((leaf("theirs", 3),), *wanted, of=file(mapping=mapping))
    assert name_in_file(sources[0]) == "theirs"
    assert sources[1] == Constant(wanted[1], "5")
    assert sources[2] == Constant(wanted[2], None)


def test_a_mapping_reaches_into_structs_inside_lists() -> None:
    inside = FileColumn("l", None, "list", children=(FileColumn("array", None, "struct", children=(leaf("x"),)),))
    mapping = (MappedName("l", 1, children=(MappedName("list", 2, children=(MappedName("x", 3),)),)),)
    element = Column(2, "element", Struct((Column(3, "a", INT), Column(4, "b", INT))))
    (source,) = resolved((inside,), Column(1, "l", ListOf(element)), of=file(mapping=mapping))
    assert isinstance(source, FromFile)
    struct = source.children[0]
    assert isinstance(struct, FromFile)
    assert name_in_file(struct.children[0]) == "x"
    assert isinstance(struct.children[1], Constant)


def test_a_mapping_can_take_a_value_from_the_path() -> None:
    mapping = (MappedName("day", 1, is_partition=True),)
    place = "/data/region=eu/day=2024-01-02/x.parquet"
    (source,) = resolved((leaf("a"),), Column(1, "d", Primitive("date")), of=file(place, mapping))
    assert source == Constant(Column(1, "d", Primitive("date")), "2024-01-02")


@pytest.mark.parametrize(
    ("value", "type_", "found"),
    [
        ("a%20b%2Fc", TEXT, "a b/c"),
        ("__HIVE_DEFAULT_PARTITION__", TEXT, None),
        ("NULL", TEXT, None),
        ("", TEXT, ""),
        ("", INT, None),
        ("7", INT, "7"),
    ],
)
def test_a_value_in_a_path_reads_as_duckdb_reads_it(value: str, type_: Primitive, found: str | None) -> None:
    assert hive_value(f"s3://bucket/t/K={value}/x.parquet", "k", type_) == found


def test_the_first_of_two_values_in_a_path_counts_and_the_name_of_the_file_does_not() -> None:
    assert hive_value("/t/k=1/k=2/k=3", "k", INT) == "1"


@pytest.mark.parametrize("path", ["/t/x.parquet", "/t/k=1=2/x.parquet", "/t/k=1.parquet"])
def test_a_path_without_the_value_is_refused(path: str) -> None:
    with pytest.raises(StorageError, match="'k'"):
        hive_value(path, "k", INT)


def test_rows_of_the_catalog_are_found_by_id_at_every_depth() -> None:
    old = Column(1, "s", Struct((Column(2, "a", INT), Column(3, "b", INT))))
    new = Column(1, "t", Struct((Column(3, "c", INT), Column(4, "d", INT, True, "9"))))
    (source, missing) = resolve_inlined((old,), (new, Column(5, "e", INT, initial_default="x")))
    assert isinstance(source, FromFile)
    assert source.source.name == "c1"
    assert name_in_file(source.children[0]) == "b"
    assert isinstance(source.children[1], Constant)
    assert isinstance(missing, Constant)
    assert missing.text == "x"
