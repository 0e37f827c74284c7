"""Lives that carry every type, with the values at its edges."""

from __future__ import annotations

from tests.differential.lives.life import FILES_ONLY, INLINE_ALL, Life, statements

SCALARS = """CREATE TABLE scalars (n INTEGER, b BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INTEGER, i8 BIGINT,
  u1 UTINYINT, u2 USMALLINT, u4 UINTEGER, u8 UBIGINT, f4 FLOAT, f8 DOUBLE,
  d4 DECIMAL(4,1), d9 DECIMAL(9,2), d18 DECIMAL(18,3), d38 DECIMAL(38,10), s VARCHAR, x BLOB, id UUID, j JSON)"""

MOMENTS = """CREATE TABLE moments (n INTEGER, d DATE, t TIME, tz TIMETZ, ts TIMESTAMP, tss TIMESTAMP_S,
  tsms TIMESTAMP_MS,
  tsns TIMESTAMP_NS, tstz TIMESTAMPTZ, iv INTERVAL)"""

SCALAR_ROWS = (
    """INSERT INTO scalars VALUES (1, true, -128, -32768, -2147483648, -9223372036854775808, 0, 0, 0, 0,
  '-inf', '-inf', -999.9, -9999999.99, -999999999999999.999, -9999999999999999999999999999.9999999999,
  '', '\\x00'::BLOB, '00000000-0000-0000-0000-000000000000', 'null')""",
    """INSERT INTO scalars VALUES (2, false, 127, 32767, 2147483647, 9223372036854775807, 255, 65535, 4294967295,
  18446744073709551615, 'inf', 'inf', 999.9, 9999999.99, 999999999999999.999, 9999999999999999999999999999.9999999999,
  'zażółć 🦆 "quoted" it''s, back\\slash', '\\xFF\\x00\\x61'::BLOB, 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '{"a": [1, 2, {"b": null}], "ü": "x"}')""",
    """INSERT INTO scalars VALUES (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL)""",
    """INSERT INTO scalars VALUES (4, true, 0, -1, 42, 4503599627370497, 7, 8, 9, 9223372036854775808, 'nan', 'nan',
  0, -0.01,
  0.001, 0.0000000001, 'NULL', ''::BLOB, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '"text"'),
  (5, false, 1, 1, 1, 1, 1, 1, 1, 1, -0.0, -0.0, 1, 1, 1, 1, ' padded ', 'plain'::BLOB,
  '80000000-0000-4000-8000-000000000000', '1.50'),
  (6, true, 2, 2, 2, 2, 2, 2, 2, 2, 3.4028235e38, 1.7976931348623157e308, 0.1, 0.1, 0.1, 0.1, '2024-01-01',
  '\\x00\\x00'::BLOB,
  '7fffffff-ffff-ffff-ffff-ffffffffffff', '[]'),
  (7, true, 3, 3, 3, 3, 3, 3, 3, 3, 1.17549435e-38, 5e-324, 0.2, 0.2, 0.2, 0.2, '{a}', encode('é'), NULL, '{}')""",
)

MOMENT_ROWS = (
    """INSERT INTO moments VALUES (1, '0001-01-01', '00:00:00', '00:00:00+00', '0001-01-01 00:00:00',
  '0001-01-01 00:00:00',
  '0001-01-01 00:00:00.001', '1677-09-22 00:00:00', '0001-01-01 00:00:00+00', INTERVAL 0 DAY)""",
    """INSERT INTO moments VALUES (2, '9999-12-31', '23:59:59.999999', '23:59:59.999999+00',
  '9999-12-31 23:59:59.999999',
  '9999-12-31 23:59:59', '9999-12-31 23:59:59.999', '2262-04-11 23:47:16.854775806', '9999-12-31 23:59:59.999999+00',
  INTERVAL '1 year 2 months 3 days 04:05:06.789')""",
    """INSERT INTO moments VALUES (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, '2024-02-29', '12:34:56.7', '12:34:56.7+02', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56',
  '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012345', '2024-02-29 12:34:56.789012+02:30',
  INTERVAL '3 days 1 microsecond')""",
    """INSERT INTO moments VALUES (5, '1582-10-04', '00:00:00.000001', '01:02:03-05', '1582-10-04 23:59:59.5',
  '1582-10-15 00:00:00', '1900-01-01 00:00:00.5', '1969-12-31 23:59:59.999999999', '1582-10-10 00:00:00+00',
  INTERVAL '2 months')""",
)

FAR_ROWS = """INSERT INTO far VALUES (1, 'infinity', 'infinity', 'infinity'), (2, '-infinity', '-infinity',
  '-infinity')
INSERT INTO far VALUES (3, '4713-01-01 (BC)', '4713-01-01 (BC) 01:02:03', '4713-01-01 (BC) 01:02:03+00')
INSERT INTO far VALUES (4, '5881580-07-10', '294247-01-10 04:00:54.775806', '294247-01-10 04:00:54.775806+00')
INSERT INTO far VALUES (5, '5877642-06-25 (BC)', '290309-12-22 (BC) 00:00:00', '290309-12-22 (BC) 00:00:00+00')
INSERT INTO far VALUES (6, '12345-06-07', '12345-06-07 08:09:10', '12345-06-07 08:09:10+00'), (7, NULL, NULL, NULL)
"""
FAR = "CREATE TABLE far (n INTEGER, d DATE, ts TIMESTAMP, tstz TIMESTAMPTZ)"

HUGE = "CREATE TABLE huge (n INTEGER, h HUGEINT, u UHUGEINT)"
HUGE_SMALL = (
    "INSERT INTO huge VALUES (1, 9007199254740992, 9007199254740992), (2, -9007199254740992, 0), (3, NULL, NULL)"
)
HUGE_IN_FILES = "INSERT INTO huge VALUES (4, 1267650600228229401496703205376, 1267650600228229401496703205376)"
HUGE_LARGE = """INSERT INTO huge VALUES (4, 99999999999999999999999999999999999999,
  99999999999999999999999999999999999999),
  (5, -99999999999999999999999999999999999999, 1)"""

SCALAR_QUESTIONS = (
    ("scalars", "i8 = 9223372036854775807 OR i1 = -128"),
    ("scalars", "u8 > 9223372036854775807"),
    ("scalars", "u8 >= 18446744073709551615"),
    ("scalars", "i8 > 9223372036854775807"),
    ("scalars", "i8 < -9223372036854775808 OR n = 1"),
    ("scalars", "f8 > 1.0"),
    ("scalars", "f4 < 0"),
    ("scalars", "NOT b"),
    ("scalars", "b IS NULL OR s = ''"),
    ("scalars", "s LIKE 'za%'"),
    ("scalars", "s IN ('NULL', ' padded ')"),
    ("scalars", "d9 BETWEEN -1.00 AND 1.00"),
    ("scalars", "d38 > 9999999999999999999999999999.0"),
    ("scalars", "n % 2 = 0 AND length(s) > 0"),
    ("moments", "d < DATE '1600-01-01'"),
    ("moments", "ts >= TIMESTAMP '2024-02-29 12:34:56.789012'"),
    ("moments", "tss > TIMESTAMP '2000-01-01 00:00:00'"),
    ("moments", "d IS NULL"),
    ("moments", "NOT (d = DATE '2024-02-29')"),
    ("far", "d > DATE '2024-01-01'"),
    ("far", "ts < TIMESTAMP '2024-01-01 00:00:00'"),
    ("huge", "h > 0"),
)

LIVES = (
    Life(
        "every type in files",
        (
            FILES_ONLY,
            SCALARS,
            MOMENTS,
            *SCALAR_ROWS,
            *MOMENT_ROWS,
            FAR,
            *statements(FAR_ROWS),
            HUGE,
            HUGE_SMALL,
            HUGE_IN_FILES,
        ),
        questions=SCALAR_QUESTIONS,
    ),
    Life(
        "every type in the catalog",
        (
            INLINE_ALL,
            SCALARS,
            MOMENTS,
            *SCALAR_ROWS,
            *MOMENT_ROWS,
            FAR,
            *statements(FAR_ROWS),
            HUGE,
            HUGE_SMALL,
            HUGE_LARGE,
        ),
        questions=SCALAR_QUESTIONS,
    ),
    Life(
        "every type in one insert",
        (
            SCALARS,
            "INSERT INTO scalars VALUES " + ", ".join(row.split("VALUES ", 1)[1] for row in SCALAR_ROWS),
            MOMENTS,
            "INSERT INTO moments VALUES " + ", ".join(row.split("VALUES ", 1)[1] for row in MOMENT_ROWS),
            HUGE,
            HUGE_SMALL,
        ),
        options="DATA_INLINING_ROW_LIMIT 0",
        questions=tuple(each for each in SCALAR_QUESTIONS if each[0] != "far"),
        first_inserts_only=True,
    ),
    Life(
        "floats that are not numbers",
        statements("""
CALL $lake.set_option('data_inlining_row_limit', 0)
CREATE TABLE f (n INTEGER, a DOUBLE, b FLOAT)
INSERT INTO f VALUES (1, 1.5, 1.5), (2, 2.5, 2.5)
INSERT INTO f VALUES (3, 'nan', 'nan')
INSERT INTO f VALUES (4, 'nan', 'nan'), (5, 0.5, 0.5), (6, NULL, NULL)
INSERT INTO f VALUES (7, 'inf', 'inf'), (8, '-inf', '-inf')
INSERT INTO f VALUES (9, 0.0, 0.0), (10, -0.0, -0.0)
"""),
        questions=tuple(
            ("f", where)
            for where in (
                "a > 2.0",
                "a >= 1e300",
                "a < 0.25",
                "b <= 0.5",
                "a = 0",
                "a = CAST('NaN' AS DOUBLE)",
                "a <> 1.5",
                "NOT (a < 2)",
                "a IS NULL",
                "a BETWEEN 0.5 AND 2.5",
                "a = b",
                "b = 0.5",
            )
        ),
    ),
    Life(
        "text of every kind",
        statements("""
CALL $lake.set_option('data_inlining_row_limit', 3)
CREATE TABLE s (n INTEGER, t VARCHAR, x BLOB)
INSERT INTO s VALUES (1, '', ''), (2, NULL, NULL), (3, 'a', 'a')
INSERT INTO s SELECT 10 + i, chr(97 + (i % 26)::INT) || repeat('x', (i * 700)::INT), encode(repeat('b',
  (i * 300)::INT)) FROM range(9) r(i)
INSERT INTO s VALUES (20, 'line' || chr(10) || 'break' || chr(9) || 'tab' || chr(13), '\\x0A\\x0D'::BLOB), (21,
  'nul' || chr(0) || 'byte', '\\x00'::BLOB)
INSERT INTO s VALUES (22, '漢字', encode('漢字')), (23, 'e' || chr(769), NULL), (24, '🇵🇱 👩‍👩‍👧', NULL)
INSERT INTO s VALUES (25, '%_\\', NULL), (26, '''', NULL), (27, '"', NULL)
INSERT INTO s VALUES (28, '\\x41', '\\x5Cx41'::BLOB), (29, 'true', NULL), (30, '[1, 2]', NULL), (31, '{''a'': 1}',
  NULL)
"""),
        questions=(
            ("s", "t = ''"),
            ("s", "t > 'z'"),
            ("s", "t >= '漢'"),
            ("s", "t IN ('a', '''', '\"')"),
            ("s", "t LIKE 'b%'"),
            ("s", "t IS NOT NULL AND length(t) = 0"),
            ("s", "upper(t) = 'A'"),
        ),
    ),
)
