"""Lives of lists, structs and maps: their values, and their changes of shape."""

from __future__ import annotations

from tests.differential.lives.life import FILES_ONLY, INLINE_ALL, Life, statements

DEEP = """CREATE TABLE deep (n INTEGER, l INTEGER[], ll VARCHAR[][], s STRUCT(a INTEGER, b STRUCT(c VARCHAR,
  d STRUCT(e DOUBLE))),
  m MAP(VARCHAR, INTEGER), ls STRUCT(k VARCHAR, v STRUCT(w INTEGER[]))[], ml MAP(INTEGER, STRUCT(x DATE,
  y DECIMAL(9,2)[])),
  mm MAP(VARCHAR, MAP(INTEGER, VARCHAR[])), sl STRUCT(l STRUCT(z TIMESTAMP)[]))"""
DEEP_ROWS = statements("""
INSERT INTO deep VALUES (1, [1, NULL, 3], [['a', NULL], [], NULL], {a: 1, b: {c: 'x', d: {e: 1.5}}}, MAP {'k': 1,
  'j': NULL},
  [{k: 'p', v: {w: [1, 2]}}, NULL, {k: NULL, v: NULL}], MAP {1: {x: DATE '2024-01-01', y: [1.25, NULL]}},
  MAP {'o': MAP {1: ['i', NULL]}}, {l: [{z: TIMESTAMP '2024-01-01 01:02:03'}, NULL]})
INSERT INTO deep VALUES (2, [], [], {a: NULL, b: NULL}, MAP {}, [], MAP {}, MAP {}, {l: []}),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, [NULL], [NULL], {a: 4, b: {c: NULL, d: NULL}}, MAP {'': 0},
  [NULL], MAP {2: NULL}, MAP {'n': NULL, 'e': MAP {}}, {l: NULL})
INSERT INTO deep SELECT 10 + i, range(i), [[i::VARCHAR, 'é, ''q'''], ['{}']], {a: i, b: {c: 'c' || i,
  d: {e: i / 3}}}, MAP {'k' || i: i},
  [{k: 'k', v: {w: range(i)}}], MAP {i: {x: DATE '2024-01-01' + i::INT, y: [i::DECIMAL(9,2)]}},
  MAP {'o': MAP {i: ['x']}},
  {l: [{z: TIMESTAMP '2024-01-01' + to_days(i::INT)}]} FROM range(6) r(i)
""")
DEEP_QUESTIONS = (
    ("deep", "s.a = 4"),
    ("deep", "s.b.c LIKE 'c%'"),
    ("deep", "s IS NULL"),
    ("deep", "s.b.d.e > 1"),
    ("deep", "l IS NOT NULL AND n < 12"),
)

STRUCTS = statements("""
CREATE TABLE s (i INTEGER, p STRUCT(a INTEGER, b VARCHAR, deep STRUCT(x INTEGER, y INTEGER)))
INSERT INTO s SELECT i, {a: i, b: 'b' || i, deep: {x: i * 10, y: i * 100}} FROM range(4) r(i)
ALTER TABLE s ADD COLUMN p.c INTEGER
INSERT INTO s SELECT i, {a: i, b: 'b' || i, deep: {x: i * 10, y: i * 100}, c: i + 1000} FROM range(4, 8) r(i)
ALTER TABLE s RENAME p.a TO alpha
ALTER TABLE s ADD COLUMN p.deep.z VARCHAR DEFAULT 'zed'
INSERT INTO s SELECT i, {alpha: i, b: 'b', deep: {x: 1, y: 2, z: 'own'}, c: 3} FROM range(8, 12) r(i)
ALTER TABLE s DROP COLUMN p.b
ALTER TABLE s ADD COLUMN p.b INTEGER
INSERT INTO s SELECT i, {alpha: i, deep: {x: 1, y: NULL, z: NULL}, c: 3, b: 77} FROM range(12, 14) r(i)
ALTER TABLE s RENAME p.deep.x TO swap
ALTER TABLE s RENAME p.deep.y TO x
ALTER TABLE s RENAME p.deep.swap TO y
INSERT INTO s VALUES (14, NULL), (15, {alpha: NULL, deep: NULL, c: NULL, b: NULL}), (16, {alpha: 1, deep: {y: 5,
  x: 6, z: 'q'}, c: 1, b: 2})
ALTER TABLE s DROP COLUMN p.deep
UPDATE s SET p = {alpha: 100, c: 200, b: 300} WHERE i % 5 = 0
DELETE FROM s WHERE i = 3
""")

CONTAINERS = statements("""
CREATE TABLE c (i INTEGER, l STRUCT(a INTEGER, b VARCHAR)[], m MAP(VARCHAR, STRUCT(a INTEGER, n STRUCT(q INTEGER))))
INSERT INTO c VALUES (1, [{a: 1, b: 'x'}, NULL, {a: NULL, b: 'y'}], MAP {'k': {a: 1, n: {q: 2}}})
INSERT INTO c SELECT 10 + i, [{a: i, b: 'x' || i}], MAP {'k' || i: {a: i, n: {q: i}}} FROM range(4) r(i)
ALTER TABLE c ADD COLUMN l.element.c INTEGER
ALTER TABLE c ADD COLUMN m.value.b VARCHAR DEFAULT 'dflt'
INSERT INTO c SELECT 20 + i, [{a: i, b: 'x' || i, c: i}], MAP {'k' || i: {a: i, n: {q: i}, b: 'B'}} FROM range(4) r(i)
ALTER TABLE c RENAME l.element.a TO first
ALTER TABLE c RENAME m.value.n.q TO quux
INSERT INTO c SELECT 30 + i, [{first: i, b: 'x' || i, c: i}], MAP {'k' || i: {a: i, n: {quux: i},
  b: 'B'}} FROM range(4) r(i)
ALTER TABLE c DROP COLUMN l.element.b
ALTER TABLE c DROP COLUMN m.value.a
ALTER TABLE c ADD COLUMN m.value.n.r INTEGER
INSERT INTO c VALUES (40, [], MAP {}), (41, NULL, NULL), (42, [NULL], MAP {'n': NULL}), (43, [{first: 1, c: 2},
  {first: 3, c: 4}], MAP {'z': {n: {quux: 1, r: 2}, b: 'b'}})
DELETE FROM c WHERE i IN (11, 21, 42)
UPDATE c SET l = [{first: 99, c: 98}] WHERE i IN (10, 30)
""")

PROMOTIONS = statements("""
CALL $lake.set_option('data_inlining_row_limit', 0)
CREATE TABLE p (i INTEGER, a TINYINT, b SMALLINT, c INTEGER, f FLOAT, d DECIMAL(5,2), dt DATE, ts TIMESTAMP_S,
  tm TIMESTAMP, u UTINYINT, bo BOOLEAN)
INSERT INTO p VALUES (1, -128, -32768, 2147483647, 1.1, 123.45, '2024-01-01', '2024-01-01 01:02:03',
  '2024-01-01 01:02:03.456', 255, true)
INSERT INTO p VALUES (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
ALTER TABLE p ALTER a SET DATA TYPE SMALLINT
ALTER TABLE p ALTER b SET DATA TYPE BIGINT
ALTER TABLE p ALTER f SET DATA TYPE DOUBLE
INSERT INTO p VALUES (3, 32767, 9223372036854775807, 5, 1.1, 1.5, '2024-06-01', '2024-01-01 01:02:03', '2024-01-01',
  1, false)
ALTER TABLE p ALTER a SET DATA TYPE INTEGER
ALTER TABLE p ALTER c SET DATA TYPE DOUBLE
ALTER TABLE p ALTER d SET DATA TYPE DECIMAL(10,3)
ALTER TABLE p ALTER dt SET DATA TYPE TIMESTAMP
ALTER TABLE p ALTER ts SET DATA TYPE TIMESTAMP_MS
ALTER TABLE p ALTER tm SET DATA TYPE TIMESTAMP_NS
ALTER TABLE p ALTER u SET DATA TYPE INTEGER
ALTER TABLE p ALTER bo SET DATA TYPE INTEGER
INSERT INTO p VALUES (4, 100000, 7, 0.5, 2.5, 9999999.125, '2024-01-01 12:00:00', '2024-01-01 01:02:03.999',
  '2024-01-01 00:00:00.123456789', 70000, 12)
ALTER TABLE p ALTER a SET DATA TYPE DECIMAL(12,2)
ALTER TABLE p ALTER d SET DATA TYPE DOUBLE
ALTER TABLE p ALTER ts SET DATA TYPE TIMESTAMP
INSERT INTO p VALUES (5, 1.25, 7, 0.5, 2.5, 0.1, '2024-01-01 12:00:00', '2024-01-01 01:02:03.999999',
  '2024-01-01 00:00:00.123456789', 70000, 12)
DELETE FROM p WHERE i = 2
UPDATE p SET i = i + 10 WHERE i = 1
""")

NESTED_PROMOTIONS = statements("""
CREATE TABLE q (i INTEGER, s STRUCT(a TINYINT, n STRUCT(b FLOAT)), l INTEGER[], m MAP(VARCHAR, SMALLINT),
  ls STRUCT(a INTEGER)[])
INSERT INTO q VALUES (1, {a: 1, n: {b: 1.1}}, [1, 2], MAP {'k': 1}, [{a: 1}, NULL])
INSERT INTO q SELECT i, {a: i, n: {b: i}}, [i, NULL], MAP {'k': i}, [{a: i}] FROM range(10, 24) r(i)
ALTER TABLE q ALTER s SET DATA TYPE STRUCT(a INTEGER, n STRUCT(b DOUBLE))
ALTER TABLE q ALTER l SET DATA TYPE BIGINT[]
ALTER TABLE q ALTER m SET DATA TYPE MAP(VARCHAR, BIGINT)
ALTER TABLE q ALTER ls SET DATA TYPE STRUCT(a BIGINT, b VARCHAR)[]
INSERT INTO q VALUES (30, {a: 70000, n: {b: 1.1}}, [5000000000], MAP {'k': 5000000000}, [{a: 5000000000, b: 'new'}])
ALTER TABLE q ALTER s SET DATA TYPE STRUCT(n STRUCT(b DOUBLE, c INTEGER), z VARCHAR)
INSERT INTO q VALUES (31, {n: {b: 1.1, c: 2}, z: 'zz'}, [5000000000], MAP {'k': 5000000000}, [{a: 5000000000,
  b: 'new'}])
DELETE FROM q WHERE i = 12
""")

ODD_STRUCTS = statements("""
CREATE TABLE o (i INTEGER, s STRUCT(t VARCHAR, u VARCHAR[]), d STRUCT(d DATE, ts TIMESTAMP), b STRUCT(x BLOB),
  m MAP(VARCHAR, STRUCT(t VARCHAR)),
  n STRUCT("odd name" INTEGER, "q""t" INTEGER))
INSERT INTO o VALUES (1, {t: 'it''s', u: ['it''s', 'back\\slash', NULL, 'NULL', '', ' pad ', '[x]', '{y}', 'a, b',
  '"d"']},
  {d: DATE '2024-01-01', ts: TIMESTAMP '2024-01-01 01:02:03'}, {x: '\\x00\\xFF'::BLOB}, MAP {'it''s': {t: 'it''s'}},
  {'odd name': 1, 'q"t': 2})
INSERT INTO o VALUES (2, {t: 'NULL', u: NULL}, NULL, {x: NULL}, MAP {'': {t: ''}}, NULL), (3, {t: NULL, u: []},
  {d: NULL, ts: NULL}, NULL, MAP {}, NULL)
INSERT INTO o VALUES (4, {t: 'new' || chr(10) || 'line', u: ['é', '🦆']}, NULL, NULL, MAP {'k=v': {t: 'x=y'},
  'a, b': {t: ':'}}, NULL)
""")

LIVES = (
    Life("nested three deep in files", (FILES_ONLY, DEEP, *DEEP_ROWS), questions=DEEP_QUESTIONS),
    Life(
        "nested three deep in the catalog",
        (INLINE_ALL, DEEP, *DEEP_ROWS, "CALL ducklake_flush_inlined_data('$lake')"),
        questions=DEEP_QUESTIONS,
        oracle="duckdb",
    ),
    Life("structs with odd text in the catalog", (INLINE_ALL, *ODD_STRUCTS), oracle="duckdb"),
    Life("structs with odd text in files", (FILES_ONLY, *ODD_STRUCTS)),
    Life(
        "fields of structs come and go",
        (FILES_ONLY, *STRUCTS),
        questions=(("s", "p.alpha = 100"), ("s", "p.c > 1000"), ("s", "p.b IS NULL"), ("s", "p.deep.z = 'zed'")),
    ),
    Life("fields of structs come and go in the catalog", (INLINE_ALL, *STRUCTS), oracle="duckdb"),
    Life("fields inside lists and maps come and go", (FILES_ONLY, *CONTAINERS)),
    Life("fields inside lists and maps come and go in the catalog", (INLINE_ALL, *CONTAINERS), oracle="duckdb"),
    Life(
        "types grow",
        PROMOTIONS,
        questions=(
            ("p", "a > 100"),
            ("p", "b = -32768"),
            ("p", "d > 123.4"),
            ("p", "f > 1.05"),
            ("p", "u >= 255"),
            ("p", "CAST(bo AS INT) = 1"),
            ("p", "dt >= TIMESTAMP '2024-01-01 00:00:00'"),
            ("p", "ts < TIMESTAMP '2024-01-01 01:02:03.9'"),
        ),
    ),
    Life("types grow inside", (FILES_ONLY, *NESTED_PROMOTIONS)),
    Life("types grow inside in the catalog", (INLINE_ALL, *NESTED_PROMOTIONS), oracle="duckdb"),
    Life(
        "nested in one insert",
        (DEEP, DEEP_ROWS[2].replace("range(6)", "range(16)")),
        options="DATA_INLINING_ROW_LIMIT 0",
        questions=DEEP_QUESTIONS,
        first_inserts_only=True,
    ),
)
