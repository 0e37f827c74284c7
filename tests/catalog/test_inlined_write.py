"""Rows that we put into the catalog, read by DuckDB's own extension: every type and every hazard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal as Number
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quacklake.catalog.inlined_write import can_inline, create_inlined, encode_rows, inlined_name, insert_inlined
from quacklake.catalog.lake import Catalog
from quacklake.catalog.open import open_catalog
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import TableName, quote
from quacklake.plan.scan import InlinedRows
from quacklake.schema import Column
from quacklake.types import Decimal, ListOf, MapOf, Primitive, Struct
from tests.catalog.nested_values import LEAVES, NAMES, NASTY, Kind, as_arrow, kinds, list_of, map_of, struct_of
from tests.catalog.test_inlined import read_text
from tests.conftest import Duck
from tests.lakes import Place

NewPlace = Callable[[str], Place]
Row = tuple[str | None, ...]
T = TableName("main", "t")


def kind(name: str, arrow: pa.DataType) -> Kind:
    return Kind(Primitive(name), arrow, st.nothing())


TEXT = kind("varchar", pa.string())
BLOB = kind("blob", pa.binary())
DATE = kind("date", pa.date32())
MOMENT = kind("timestamp", pa.timestamp("us"))
NUMBER = kind("int32", pa.int32())
INFINITY = 2**63 - 1
INTERVAL = pa.month_day_nano_interval()
SCALARS: Mapping[str, tuple[Kind, Sequence[Any]]] = {
    "bool": (kind("boolean", pa.bool_()), [True, False]),
    "i8": (kind("int8", pa.int8()), [-128, 127]),
    "i16": (kind("int16", pa.int16()), [-(2**15), 2**15 - 1]),
    "i32": (NUMBER, [-(2**31), 2**31 - 1]),
    "i64": (kind("int64", pa.int64()), [-(2**63), 2**63 - 1]),
    "i128": (kind("int128", pa.string()), [str(-(2**127)), str(2**127 - 1)]),
    "i128 as decimal": (kind("int128", pa.decimal128(38, 0)), [Number(10) ** 37, Number(-1)]),
    "u8": (kind("uint8", pa.uint8()), [0, 255]),
    "u16": (kind("uint16", pa.uint16()), [2**16 - 1]),
    "u32": (kind("uint32", pa.uint32()), [2**32 - 1]),
    "u64": (kind("uint64", pa.uint64()), [0, 2**64 - 1]),
    "u128": (kind("uint128", pa.string()), [str(2**128 - 1)]),
    "f32": (
        kind("float32", pa.float32()),
        [0.1, float("nan"), float("inf"), -float("inf"), -0.0, 1e30, 1e-45, 16777216.0],
    ),
    "f64": (kind("float64", pa.float64()), [0.1, float("nan"), float("inf"), -float("inf"), -0.0, 1e300, 5e-324, 1e16]),
    "dec": (Kind(Decimal(10, 2), pa.decimal128(10, 2), st.nothing()), [Number("-1.50"), Number("99999999.99")]),
    "dec38": (Kind(Decimal(38, 38), pa.decimal128(38, 38), st.nothing()), [Number("0." + "123456789" * 4 + "12")]),
    "date": (DATE, [0, -1, 19724, 2**31 - 1, -(2**31) + 1, 2**31 - 2, -(2**31) + 2, -735_000, 2_932_897]),
    "time": (kind("time", pa.time64("us")), [0, 86_400_000_000, 36_672_123_456, 500_000]),
    "ts": (MOMENT, [0, -1, INFINITY, -INFINITY, INFINITY - 1, -9_223_372_022_400_000_000, 1_704_164_645_678_901]),
    "ts_s": (kind("timestamp_s", pa.timestamp("s")), [0, -1, INFINITY, -INFINITY, 253_402_300_800]),
    "ts_ms": (kind("timestamp_ms", pa.timestamp("ms")), [1_704_164_645_678, -1, INFINITY]),
    "ts_ns": (kind("timestamp_ns", pa.timestamp("ns")), [1_704_164_645_678_901_234, -1, INFINITY - 1, INFINITY]),
    "tstz": (kind("timestamptz", pa.timestamp("us", "UTC")), [1_704_164_645_678_901, -1, INFINITY, -INFINITY]),
    "timetz": (kind("timetz", pa.string()), ["10:11:12+02", "10:11:12.123456+15:59:59", "24:00:00-15:59:59"]),
    "interval": (
        kind("interval", INTERVAL),
        [
            (1, 2, 3000),
            (-1, 2, -3000),
            (0, 0, 0),
            (-14, 0, 3_600_000_000_000),
            (2**31 - 1, -(2**31), 9 * 10**18),
            (0, 1, 0),
        ],
    ),
    "interval as text": (
        kind("interval", pa.string()),
        ["-1 year -2 months 3 days -04:05:06.000007", "00:00:00"],
    ),
    "varchar": (TEXT, [*NASTY, "a\0b", "\0", "x" * 100_000]),
    "blob": (BLOB, [b"", b"\x00\xffab'", b"NULL", bytes(range(256)) * 300]),
    "uuid": (kind("uuid", pa.string()), ["23909d95-27ff-40c2-833e-5aa34e81d33a"]),
    "uuid as bytes": (kind("uuid", pa.binary(16)), [bytes(range(16))]),
    "json": (kind("json", pa.string()), ['{"a": [1, null]}', "null", '"it\'s"', '"\\\\"']),
}
IN_FILES_AND_MYSQL = {"time_ns": (kind("time_ns", pa.time64("ns")), [0, 36_672_123_456_789, 86_400_000_000_000])}
STRING_STRUCT = struct_of({"a": TEXT, "b": NUMBER})
NESTED: Mapping[str, tuple[Kind, Sequence[Any]]] = {
    "list of strings": (list_of(TEXT), [[*NASTY, None], [], [None], [""], *([text] for text in NASTY)]),
    "list of lists": (list_of(list_of(TEXT)), [[[*NASTY], [], None, ["]"], ["["]], *([[text]] for text in NASTY)]),
    "list of blobs": (list_of(BLOB), [[b"\x00a,", b"", None, b"NULL", b"'", b"\\x41"]]),
    "list of dates": (list_of(DATE), [[0, 2**31 - 1, -735_000, None]]),
    "list of floats": (list_of(LEAVES[8]), [[float("nan"), float("inf"), -0.0, None, 1e300]]),
    "struct of strings": (
        STRING_STRUCT,
        [*({"a": text, "b": 1} for text in NASTY), {"a": None, "b": None}, {"a": "x", "b": None}],
    ),
    "struct of a string": (struct_of({"a": TEXT}), [*({"a": text} for text in NASTY), {"a": None}]),
    "struct of everything": (
        struct_of({str(leaf.type): leaf for leaf in LEAVES}),
        [
            {
                "varchar": "it's", "blob": b"\x00',\xff", "boolean": True, "int8": -1, "int64": 2**63 - 1,
                "uint64": 2**64 - 1, "int128": str(-(2**127)), "float32": float("nan"), "float64": -float("inf"),
                "decimal(10,2)": Number("-1.50"), "date": 2**31 - 1, "timestamp": INFINITY, "timestamptz": -1,
                "timestamp_ns": 1, "timestamp_ms": -1, "timestamp_s": 0, "time": 86_400_000_000,
                "timetz": "10:11:12+02", "interval": (-1, 2, -3000), "uuid": "23909d95-27ff-40c2-833e-5aa34e81d33a",
            },
            {str(leaf.type): None for leaf in LEAVES},
        ],
    ),
    "struct of odd names": (
        struct_of(dict.fromkeys(NAMES, TEXT)), [{name: name for name in NAMES}, dict.fromkeys(NAMES)]
    ),
    "struct in struct": (
        struct_of({"s": struct_of({"it's": TEXT, "d": DATE}), "l": list_of(TEXT)}),
        [*({"s": {"it's": text, "d": 1}, "l": [text]} for text in NASTY), {"s": None, "l": None}],
    ),
    "list of structs": (
        list_of(struct_of({"a": TEXT, "d": DATE})), [*([{"a": text, "d": 19_724}, None] for text in NASTY), []]
    ),
    "map of strings": (
        map_of(TEXT, TEXT), [[], list(zip(NASTY, reversed(NASTY), strict=True)), *([(text, text)] for text in NASTY)]
    ),
    "map of structs": (map_of(DATE, struct_of({"a": TEXT})), [[(0, {"a": text}), (1, None)] for text in NASTY]),
    "map of odd keys": (
        map_of(struct_of({"x": TEXT}), list_of(NUMBER)), [[({"x": text}, [1, None])] for text in NASTY]
    ),
    "map of moments": (map_of(MOMENT, BLOB), [[(0, b"'"), (INFINITY, b"\x00,"), (-1, None)]]),
    "deep": (
        list_of(struct_of({"m}": map_of(TEXT, list_of(struct_of({"it's": TEXT})))})),
        [[{"m}": [(text, [{"it's": text}, None])]}] for text in NASTY],
    ),
}  # fmt: skip


class Zoo:
    """A table with a column for each case and its values in rows."""

    def __init__(self, cases: Mapping[str, tuple[Kind, Sequence[Any]]]) -> None:
        self.names = list(cases)
        height = max(len(values) for _, values in cases.values()) + 1
        self.kinds = [each for each, _ in cases.values()]
        self.columns = tuple(Column(index, f"c{index}", each.type) for index, each in enumerate(self.kinds))
        self.data = pa.table(
            [as_arrow([*values, *[None] * (height - len(values))], each.arrow) for each, values in cases.values()],
            names=[column.name for column in self.columns],
        )

    @property
    def ddl(self) -> str:
        pairs = zip(self.columns, self.kinds, strict=True)
        return f"CREATE TABLE t({', '.join(f'{quote(column.name)} {kind.duckdb}' for column, kind in pairs)})"

    def expected(self) -> list[Row]:
        """The rows as DuckDB's text, never having been in a lake."""
        with duckdb.connect(config={"threads": 1}) as con:
            con.execute("SET TimeZone='UTC'")
            con.register("data", self.data)
            pairs = zip(self.columns, self.kinds, strict=True)
            return con.execute(
                f"SELECT {', '.join(f'{c.name}::{k.duckdb}::VARCHAR' for c, k in pairs)} FROM data"
            ).fetchall()

    def compare(self, found: Sequence[Row], expected: Sequence[Row]) -> None:
        assert len(found) == len(expected)
        rows = zip(self.names, zip(*found, strict=True), zip(*expected, strict=True), strict=True)
        for name, mine, theirs in rows:
            assert mine == theirs, name


def put(lake: Catalog, data: pa.Table) -> None:
    """What a writer does: a new table of inlined rows with a schema version of its own, and the rows in it."""
    snapshot, entry = lake.snapshot(), lake.view(only=T).table(T)
    columns, name = entry.schema.columns, lake.backend.name
    assert can_inline(name, columns, data) is None
    rows = encode_rows(name, columns, data)
    next_id, version = snapshot.snapshot_id + 1, snapshot.schema_version + 1
    stored = inlined_name(entry.table_id, version)
    with lake.backend.write() as connection:
        place = lake.tables.sql_schema
        create_inlined(connection, name, entry.table_id, version, columns, place)
        tables = lake.tables
        for table, values in (
            (tables.inlined_data_tables, (entry.table_id, stored, version)),
            (
                tables.snapshot,
                (next_id, datetime.now(UTC), version, snapshot.next_catalog_id, snapshot.next_file_id + 1),
            ),
            (tables.snapshot_changes, (next_id, f"inlined_insert:{entry.table_id}", None, None, None)),
            (tables.table_stats, (entry.table_id, len(rows), len(rows), 0)),
        ):
            keys = [column.name for column in table.columns]
            connection.execute(sa.insert(table), dict(zip(keys, values, strict=True)))
        insert_inlined(connection, stored, columns, range(len(rows)), next_id, rows, place)


def inlined(lake: Catalog) -> tuple[InlinedRows, ...]:
    contents = lake.contents(T)
    assert not contents.files
    return contents.inlined


def cases_for(place: Place) -> Mapping[str, tuple[Kind, Sequence[Any]]]:
    return {**SCALARS, **NESTED, **({} if place.kind == "postgres" else IN_FILES_AND_MYSQL)}


def test_duckdb_and_we_read_what_we_wrote(backend: Place, duck: Duck) -> None:
    zoo = Zoo(cases_for(backend))
    with duck(backend, "DATA_INLINING_ROW_LIMIT 0") as con:
        con.execute(zoo.ddl).fetchall()
    with closing(open_catalog(backend.url)) as lake:
        put(lake, zoo.data)
        mine = read_text(inlined(lake))
    with duck(backend) as con:
        theirs = con.execute("SELECT COLUMNS(*)::VARCHAR FROM t ORDER BY rowid").fetchall()
    expected = zoo.expected()
    zoo.compare(mine, expected)
    zoo.compare(theirs, expected)


def test_columns_of_any_name_are_written(backend: Place, duck: Duck) -> None:
    names = ["select", "A", "it's", "a b", 'q"q', "c:d", "50%", "%(p)s", "?", "`", "\\", "ä", "p0", "ROW ID", ":p"]
    if backend.kind == "mysql":
        names = [name for name in names if name not in ("`", "\\")]
    with duck(backend, "DATA_INLINING_ROW_LIMIT 0") as con:
        con.execute(f"CREATE TABLE t({', '.join(f'{quote(name)} INTEGER' for name in names)})").fetchall()
    data = pa.table([pa.array([index], pa.int32()) for index in range(len(names))], names=names)
    with closing(open_catalog(backend.url)) as lake:
        put(lake, data)
        assert read_text(inlined(lake)) == [tuple(str(index) for index in range(len(names)))]
    with duck(backend) as con:
        assert con.execute("SELECT * FROM t").fetchall() == [tuple(range(len(names)))]


@pytest.mark.parametrize("name", ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
def test_duckdb_goes_on_with_what_we_wrote(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    zoo = Zoo({"key": (NUMBER, range(8)), "value": (STRING_STRUCT, [{"a": text, "b": 1} for text in NASTY[:8]])})
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        con.execute(zoo.ddl).fetchall()
    with closing(open_catalog(place.url)) as lake:
        put(lake, zoo.data)
    with duck(place) as con:
        for statement in (
            "DELETE FROM t WHERE c0 = 3",
            "UPDATE t SET c1 = {'a': 'new', 'b': 2} WHERE c0 = 4",
            "INSERT INTO t VALUES (8, {'a': 'more', 'b': 3})",
            f"CALL ducklake_flush_inlined_data('{con.execute('SELECT current_database()').fetchall()[0][0]}')",
        ):
            con.execute(statement).fetchall()
        found = con.execute("SELECT c0, c1.a FROM t WHERE c0 IS NOT NULL ORDER BY c0").fetchall()
    wanted = {**dict(enumerate(NASTY[:8])), 4: "new", 8: "more"}
    assert found == [(key, value) for key, value in wanted.items() if key != 3]


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_random_nested_rows_are_read_by_duckdb(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, duck: Duck
) -> None:
    drawn = data.draw(st.lists(kinds(), min_size=4, max_size=8))
    cases = {str(i): (each, data.draw(st.lists(st.none() | each.values, max_size=6))) for i, each in enumerate(drawn)}
    zoo, place = Zoo(cases), Place.in_folder("sqlite", tmp_path_factory.mktemp("lake"))
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        con.execute(zoo.ddl).fetchall()
    with closing(open_catalog(place.url)) as lake:
        put(lake, zoo.data)
        zoo.compare(read_text(inlined(lake)), zoo.expected())
    with duck(place) as con:
        zoo.compare(con.execute("SELECT COLUMNS(*)::VARCHAR FROM t ORDER BY rowid").fetchall(), zoo.expected())


@pytest.mark.parametrize("name", ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
def test_our_tables_of_rows_have_the_columns_that_duckdb_gives_them(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    zoo = Zoo(cases_for(place))
    with duck(place) as con:
        con.execute(zoo.ddl).fetchall()
    with closing(open_catalog(place.url)) as lake, lake.backend.write() as connection:
        entry = lake.view(only=T).table(T)
        create_inlined(connection, name, 1, 99, entry.schema.columns, lake.tables.sql_schema)
        theirs, ours = (stored_columns(connection, name, inlined_name(1, version)) for version in (1, 99))
    assert ours == theirs


def stored_columns(connection: sa.Connection, backend_name: str, table: str) -> list[tuple[Any, ...]]:
    query = {
        "sqlite": f"SELECT name, type FROM pragma_table_info('{table}')",
        "duckdb": f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{table}'",
        "postgresql": "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        f" WHERE attrelid = 'public.{table}'::regclass AND attnum > 0 ORDER BY attnum",
    }[backend_name]
    found = [tuple(row) for row in connection.exec_driver_sql(query)]
    assert len(found) > len(SCALARS)
    return found


def test_a_live_duckdb_sees_rows_in_a_table_that_it_did_not_know(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("sqlite")
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        con.execute("CREATE TABLE t(c0 INTEGER)").fetchall()
        assert con.execute("SELECT * FROM t").fetchall() == []
        with closing(open_catalog(place.url)) as lake:
            put(lake, pa.table({"c0": pa.array([1, 2], pa.int32())}))
        assert con.execute("SELECT * FROM t").fetchall() == [(1,), (2,)]


def column(type_: Any, name: str = "v") -> Column:
    return Column(1, name, type_)


@pytest.mark.parametrize("backend_name", ["sqlite", "duckdb", "postgresql", "mysql"])
@pytest.mark.parametrize("type_name", ["variant", "geometry"])
def test_some_types_are_never_inlined(backend_name: str, type_name: str) -> None:
    leaf = Primitive(type_name)
    for type_ in (leaf, ListOf(column(leaf)), Struct((column(leaf),)), MapOf(column(Primitive("int32")), column(leaf))):
        reason = can_inline(backend_name, [column(type_)])
        assert reason is not None
        assert type_name in reason


@pytest.mark.parametrize("name", ["row_id", "Begin_Snapshot", "end_snapshot", "_ducklake_internal_row_id"])
def test_names_of_the_format_are_not_inlined(name: str) -> None:
    assert can_inline("sqlite", [column(Primitive("int32"), name)]) is not None


@pytest.mark.parametrize(
    ("backend_name", "name", "fits"),
    [
        ("postgresql", "x" * 63, True),
        ("postgresql", "x" * 64, False),
        ("postgresql", "ä" * 32, False),
        ("mysql", "ä" * 64, True),
        ("mysql", "x" * 65, False),
        ("mysql", "x ", False),
        ("mysql", "🦆", False),
        ("mysql", "`", False),
        ("mysql", "\\", False),
        ("sqlite", "x" * 500, True),
        ("duckdb", "x" * 500, True),
    ],
)
def test_a_name_has_to_fit_into_the_database(backend_name: str, name: str, fits: bool) -> None:
    assert (can_inline(backend_name, [column(Primitive("int32"), name)]) is None) is fits


def test_a_table_wider_than_the_database_allows_is_not_inlined() -> None:
    columns = [column(Primitive("int32"), f"c{index}") for index in range(1600)]
    reasons = {name: can_inline(name, columns) for name in ("sqlite", "duckdb", "postgresql", "mysql")}
    assert {name for name, reason in reasons.items() if reason is None} == {"sqlite", "duckdb"}


NULS = pa.table({"v": pa.array([["a\0b"]], pa.list_(pa.string()))})


def test_postgresql_holds_no_nul_in_nested_text() -> None:
    columns = [column(ListOf(column(Primitive("varchar"))))]
    assert can_inline("sqlite", columns, NULS) is None
    assert can_inline("postgresql", columns, NULS) == "column 'v': PostgreSQL has no text with a NUL character"
    with pytest.raises(UnsupportedError, match="NUL"):
        encode_rows("postgresql", columns, NULS)


@pytest.mark.parametrize(
    ("type_", "values", "why"),
    [
        (MapOf(column(Primitive("varchar")), column(Primitive("int32"))), [[("a", 1), ("a", 2)]], "same key twice"),
        (Primitive("timestamp"), pa.array([-(2**63) + 2], pa.int64()).view(pa.timestamp("us")), "outside the calendar"),
        (Primitive("timestamp_ns"), pa.array([-(2**63) + 2], pa.int64()).view(pa.timestamp("ns")), "outside"),
        (Primitive("date"), pa.array([-(2**31)], pa.int32()).view(pa.date32()), "before the first"),
        (Primitive("interval"), pa.array([(0, 0, 1)], INTERVAL), "more digits"),
        (Primitive("interval"), pa.array(["-2562047788:00:54.775808"]), "more microseconds"),
        (Primitive("date"), pa.array([1.5]), "double values cannot be written as date"),
        (Primitive("int32"), pa.array([1.5]), "double values cannot be written as int32"),
        (Primitive("timestamp"), pa.array([0], pa.timestamp("us", "UTC")), "cannot be written as timestamp"),
        (Primitive("timestamptz"), pa.array([0], pa.timestamp("us")), "cannot be written as timestamptz"),
        (Primitive("timestamp"), pa.array([1], pa.timestamp("ns")), "more digits behind the second than timestamp"),
        (Primitive("time"), pa.array([1], pa.time64("ns")), "more digits behind the second than time"),
        (Primitive("blob"), pa.array(["x"]), "string values cannot be written as blob"),
    ],
)
def test_what_duckdb_reads_from_no_text_is_not_inlined(type_: Any, values: Any, why: str) -> None:
    if isinstance(values, list):
        values = pa.array(values, pa.map_(pa.string(), pa.int32()))
    reason = can_inline("sqlite", [column(type_)], pa.table({"v": values}))
    assert reason is not None
    assert why in reason


def test_an_interval_that_duckdb_writes_but_does_not_read_is_written_otherwise() -> None:
    text = "1 month -2562047788:00:54.775807"
    ((written,),) = encode_rows("sqlite", [column(Primitive("interval"))], pa.table({"v": [text]}))
    with duckdb.connect() as con:
        with pytest.raises(duckdb.ConversionException):
            con.execute(f"SELECT INTERVAL '{text}'").fetchall()
        assert con.execute(f"SELECT CAST('{written}' AS INTERVAL)::VARCHAR").fetchall() == [(text,)]


def test_no_rows_are_encoded_as_no_rows() -> None:
    empty = pa.table([pa.chunked_array([], pa.int32())], names=["v"])
    assert encode_rows("sqlite", [column(Primitive("int32"))], empty) == []


def test_data_of_another_width_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="1 columns, the table 2"):
        encode_rows("sqlite", [column(Primitive("int32"))] * 2, pa.table({"v": [1]}))
