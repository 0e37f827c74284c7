"""Every type of the format in DuckDB and in Arrow: named, exact, and the same way back."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from quacklake.engine.local.batches import shape_batch
from quacklake.engine.local.types import GEOMETRY_METADATA, arrow_field, arrow_type, duckdb_type, export_sql
from quacklake.errors import UnsupportedError
from quacklake.schema import Column
from quacklake.storage.stores import Stores
from quacklake.types import PRIMITIVES, DataType, Decimal, ListOf, MapOf, Primitive, Struct

VALUES: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "false"),
    "int8": ("-128", "127"),
    "int16": ("-32768", "32767"),
    "int32": ("-2147483648", "2147483647"),
    "int64": ("-9223372036854775808", "9223372036854775807"),
    "int128": ("-" + "9" * 38, "9" * 38, "0"),
    "uint8": ("0", "255"),
    "uint16": ("0", "65535"),
    "uint32": ("0", "4294967295"),
    "uint64": ("0", "18446744073709551615"),
    "uint128": ("0", "340282366920938463463374607431768211455"),
    "float32": ("nan", "-inf", "-0.0", "1.1754944e-38", "0.1"),
    "float64": ("nan", "inf", "-0.0", "5e-324", "0.1"),
    "decimal(4,1)": ("-999.9", "0.1"),
    "decimal(38,10)": ("-9999999999999999999999999999.9999999999", "0.0000000001"),
    "time": ("00:00:00", "23:59:59.999999", "24:00:00"),
    "time_ns": ("00:00:00.000000001", "23:59:59.999999999"),
    "timetz": ("00:00:00+15:59", "23:59:59.999999-15:59", "12:34:56.7+05:30"),
    "date": ("infinity", "-infinity", "4713-01-01 (BC)", "5881580-07-10", "2024-02-29"),
    "timestamp": ("infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "2024-02-29 12:34:56.789012"),
    "timestamp_ms": ("infinity", "-infinity", "9999-12-31 23:59:59.999"),
    "timestamp_ns": ("infinity", "-infinity", "2262-04-11 23:47:16.854775806"),
    "timestamp_s": ("infinity", "-infinity", "0001-01-01 00:00:00"),
    "timestamptz": ("infinity", "-infinity", "2024-02-29 12:34:56.789012+02:30"),
    "interval": ("1 year 2 months 3 days 04:05:06.789", "-1 month 3 days -00:00:00.000001", "0 days"),
    "varchar": ("", "NULL", 'it\'s "quoted" \\ zażółć 🦆'),
    "blob": ("", "\\x00\\xFF", "plain"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    "json": ("null", '{"a": [1, 2.50, null], "ü": "x"}', '"text"'),
    "variant": ("text", "it's"),
    "geometry": ("POINT (0.1 2)", "LINESTRING (0 0, 1 1)", "POINT Z (1 2 3)"),
}


def parsed(name: str) -> DataType:
    return {"decimal(4,1)": Decimal(4, 1), "decimal(38,10)": Decimal(38, 10)}.get(name, Primitive(name))


def around(type_: DataType) -> dict[str, DataType]:
    """The type by itself and inside everything that can hold it."""
    struct = Struct((Column(2, "a b", type_), Column(3, 'say "x"', Primitive("int32"))))
    return {
        "{}": type_,
        "[{}, NULL]": ListOf(Column(2, "element", type_)),
        "{{'a b': {}, 'say \"x\"': 1}}": struct,
        "MAP {{'k': {}}}": MapOf(Column(2, "key", Primitive("varchar")), Column(3, "value", type_)),
        "[{{'a b': {}, 'say \"x\"': NULL}}, NULL]": ListOf(Column(9, "element", struct)),
    }


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    stores = Stores()
    with stores.cursor() as opened:
        yield opened
    stores.close()


def test_every_type_of_the_format_is_tested() -> None:
    assert {name.split("(")[0] for name in VALUES} - {"decimal"} == PRIMITIVES - {"unknown"}


@pytest.mark.parametrize("name", VALUES)
def test_values_leave_and_come_back_unchanged_at_every_depth(name: str, cursor: duckdb.DuckDBPyConnection) -> None:
    for text in VALUES[name]:
        literal = f"CAST('{text.replace(chr(39), chr(39) * 2)}' AS {duckdb_type(parsed(name))})"
        for shape, type_ in around(parsed(name)).items():
            sql = f"SELECT CAST({shape.format(literal)} AS {duckdb_type(type_)}) AS v UNION ALL SELECT NULL"
            exported = cursor.execute(f"SELECT {export_sql(type_, 'v')} AS v FROM ({sql})").to_arrow_table()
            schema = pa.schema([arrow_field(Column(1, "v", type_))])
            table = pa.Table.from_batches([shape_batch(each, schema) for each in exported.to_batches()])
            # Midnight at the end of a day is a time in DuckDB, and beyond what Arrow thinks a time is.
            table.validate(full=text != "24:00:00")
            cursor.register("came_back", table)
            back = f"SELECT CAST(CAST(v AS {duckdb_type(type_)}) AS VARCHAR) FROM came_back ORDER BY ALL"
            want = f"SELECT CAST(v AS VARCHAR) FROM ({sql}) ORDER BY ALL"
            assert cursor.execute(back).fetchall() == cursor.execute(want).fetchall(), (shape, text)


def test_infinity_is_the_largest_number_of_its_type(cursor: duckdb.DuckDBPyConnection) -> None:
    for name, holder in (("date", pa.int32()), ("timestamp", pa.int64()), ("timestamptz", pa.int64())):
        column = cursor.execute(f"SELECT CAST('infinity' AS {duckdb_type(Primitive(name))}) v").to_arrow_table()
        assert column.column(0).cast(holder)[0].as_py() == 2 ** (holder.bit_width - 1) - 1


def test_a_geometry_is_marked_as_such_at_every_depth() -> None:
    geometry = Column(2, "element", Primitive("geometry"))
    marks = {key.encode(): value.encode() for key, value in GEOMETRY_METADATA.items()}
    assert arrow_field(geometry).metadata == marks
    inside = arrow_type(ListOf(geometry))
    assert isinstance(inside, pa.ListType)
    assert inside.value_field.metadata == marks


def test_a_type_that_no_column_can_have_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="unknown"):
        duckdb_type(Primitive("unknown"))
