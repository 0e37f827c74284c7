"""Predicates by what the local engine has to do with them. Spark says what is right."""

from __future__ import annotations

SAME = r"""
i = 1
i == 1
i <> 1
i != 1
i <=> 1
i <=> NULL
i = NULL
i IS NULL
i IS NOT NULL
NOT i = 1
! (i = 1)
i > 2.5
i >= 2.5D
i < 1e1
i = 16777217.0
i = '7'
i = ' 7 '
i IN (1, 7)
i IN (1, NULL)
i NOT IN (1, NULL)
i NOT IN (1, 7)
i IN (1, 2.5)
i IN (1, 16777216D)
i IN ('1', '7')
i BETWEEN 0 AND 5
i NOT BETWEEN 0 AND 5
i BETWEEN '0' AND '5'
i = b
t = i
t = 300
h > t
b = 9007199254740992D
b = 9007199254740993
b > 9007199254740992.5
b = 9223372036854775807
b = x
i = f
f = 1.1
f = 1.1F
f = 1.1D
f = CAST(1.1 AS FLOAT)
f > 2.5
f = x
f >= 16777216
f < 16777217
x = 1.1
x = 0
x = -0.0D
x > 1e299
x = CAST('NaN' AS DOUBLE)
x > CAST('Infinity' AS DOUBLE)
x < CAST('NaN' AS DOUBLE)
x <> CAST('NaN' AS DOUBLE)
x <=> CAST('NaN' AS DOUBLE)
x = 'NaN'
x = '1.1'
x = 0.1
x IN (0.1, 2.5)
NOT x > 1
isnan(x)
NOT isnan(x)
isnan(f) OR x IS NULL
dec = 1.5
dec = 1.50
dec = '1.5'
dec > 1.555
dec < 2
dec = 1.5D
dec = -2.55D
dec = f
dec IN (1.5, 0)
dec IN (1.5, 2.555)
dec + 1 > 2
dec - 0.005 > 1
dec * 2 = 3
dec * dec > 6
- dec > 2
big = 0.123456789
big > 1234567890123456789012345678
big = 0.123456789D
s = 'abc'
s = "abc"
s = 'it\'s'
s = 'it''s'
s = 'a' 'bc'
s = 'a\\b'
s = r'a\b'
s = '\u00e9'
s = 'a\nb'
s > 'abc'
s <= 'Z'
s < 'é'
s IN ('abc', '5')
s NOT IN ('abc', NULL)
s <=> NULL
s LIKE 'a%'
s LIKE 'a_b'
s LIKE 'a\_b'
s LIKE 'a\\_b'
s LIKE '10\%'
s LIKE '10!%' ESCAPE '!'
s NOT LIKE '%b%'
s LIKE '%\\\\%'
s LIKE 'a\\\\b'
s LIKE ''
s LIKE '_x'
s ILIKE 'ABC'
s NOT ILIKE 'a%'
s RLIKE '^a.b$'
s RLIKE 'a.*b'
s REGEXP '[0-9]+'
s RLIKE '\\d+'
s RLIKE '^\\s*5\\s*$'
s RLIKE '(abc|ABC)'
s RLIKE 'b$'
s RLIKE 'a[^a-z]b'
s RLIKE 'a{2}b'
s RLIKE '^[\\w.]+$'
NOT s RLIKE 'a'
regexp_like(s, 'x$')
s || 'x' = 'abcx'
concat(s, 'x') = 'abcx'
concat(s, NULL) IS NULL
upper(s) = 'STRASSE'
length(s) = 2
char_length(s) > 3
trim(s) = '5'
ltrim(s) = '5 '
rtrim(s) = ' 5'
trim(BOTH 'a' FROM s) = 'b'
btrim(s, 'a') = 'bc'
substring(s, 2) = 'bc'
substring(s, 0, 2) = 'ab'
substring(s, -2) = 'bc'
substring(s, -5, 3) = 'a'
substring(s, -5, 4) = 'ab'
substring(s, 2, 0) = ''
substr(s, 2, 1) = 'b'
left(s, 2) = 'ab'
left(s, -1) = ''
right(s, 2) = 'bc'
right(s, 0) = ''
startswith(s, 'a')
endswith(s, 'b')
contains(s, 'a')
instr(s, 'b') = 2
locate('b', s) = 2
position('b' IN s) = 2
replace(s, 'a', 'x') = 'xbc'
replace(s, 'a') = 'bc'
coalesce(s, 'none') = 'none'
nvl(i, 0) = 0
ifnull(i, b) = 7
coalesce(i, 1.5) = 1.5
nullif(i, 1) IS NULL
if(i > 1, 'a', s) = 'a'
CASE WHEN i > 1 THEN 'hi' WHEN i = 0 THEN 'zero' ELSE s END = 'hi'
CASE i WHEN 1 THEN b WHEN 7 THEN 2.5 END > 1
greatest(i, b, 3) = 7
least(x, 1) = 1
greatest(x, 1) > 2
ok
NOT ok
ok = TRUE
ok = 'true'
ok IS TRUE
ok IS NOT TRUE
ok IS FALSE
ok IS UNKNOWN
ok > FALSE
ok AND i > 1
ok OR i > 1
(i > 1) = ok
(i IS NULL) = (b IS NULL)
d = '2024-01-01'
d = '2024-1-1'
d = '2024-01'
d = '2024'
d = '2024-01-01 10:00:00'
d >= DATE '2024-01-01'
d < DATE '0001-01-02'
d IN ('2024-01-01', '9999-12-31')
d = ts
d < ts
d >= TIMESTAMP_NTZ '2024-01-01 00:00:00'
d > TIMESTAMP '2023-12-31 23:00:00'
d + 1 = DATE '2024-01-02'
d - 1 < '1970-01-01'
d + INTERVAL 1 DAY = '2024-01-02'
d - INTERVAL 1 MONTH >= '2023-12-31'
d + INTERVAL '1' MONTH = DATE '2024-02-29'
INTERVAL 1 WEEK + d = '2024-01-08'
date_add(d, 1) = '2024-02-01'
date_sub(d, 1) = '2023-12-31'
datediff(d, DATE '2024-01-01') > 5
year(d) = 2024
month(d) = 1
day(d) = 31
dayofmonth(d) < 5
quarter(d) = 1
dayofweek(d) = 2
weekday(d) = 0
dayofyear(d) = 31
weekofyear(d) = 1
extract(YEAR FROM d) = 2024
extract(MONTH FROM ts) = 2
year(ts) = 2024
hour(ts) = 10
minute(ts) = 59
second(ts) = 5
hour(tz) = 5
date(ts) = '2024-01-01'
to_date(ts) = DATE '2024-01-01'
CAST(ts AS DATE) = '2024-02-29'
ts::date = '2024-01-01'
date_trunc('MONTH', ts) = TIMESTAMP '2024-01-01 00:00:00'
date_trunc('week', d) = '2024-01-29'
date_trunc('hour', tz) = TIMESTAMP '2024-01-01 05:00:00'
ts = '2024-01-01'
ts > '2024-01-01 10:30:05.123455'
ts = '2024-01-01 10:30:05.1234569'
ts = '2024-01-01T00:00:00'
ts >= TIMESTAMP '2024-01-01 00:00:00'
ts >= TIMESTAMP_NTZ '2024-01-01 00:00:00'
ts < DATE '2024-01-02'
ts BETWEEN '2024-01-01' AND '2024-01-31'
ts - INTERVAL 1 HOUR < '2024-01-01'
ts + INTERVAL 10 SECOND > '1970-01-01'
ts = tz
tz = '2024-01-01'
tz = '2024-01-01 00:00:00+00:00'
tz = '2024-01-01 05:00:00+05:00'
tz = '2024-01-01T01:00:00 Europe/Berlin'
tz = TIMESTAMP '2024-01-01 00:00:00'
tz = TIMESTAMP '2024-01-01 00:00:00Z'
tz > TIMESTAMP_NTZ '2024-01-01 00:00:00'
tz >= DATE '2024-01-01'
tz + INTERVAL 1 DAY > '2024-01-02'
date(tz) = '2024-06-30'
bin = X'61'
bin > X'00'
bin IS NULL
h + 1 = 2
t + 1 = 128
h + t > 10
order * h > 100
lower(s) = 'abc'
lower(s) IN ('abc', 'x')
upper(s) = 'ABC'
i * 1.5 > 3
i + 0.5D > 1
f + f > 2
x + i > 2
x * x > 1
- x > 1
i % 3 = 1
i % 3 = -1
b % -3 = 1
x % 2 = 0.5
i / 2 = 3.5
i / 2 > 1
x / 2 > 1
i div 2 = -3
i & 1 = 1
i | 1 = 7
abs(x) = 2.5
round(x) = 3
round(x) = -3
floor(dec) = 1
ceil(dec) = -2
round(dec) = 2
CAST(dec AS INT) = -2
CAST(dec AS DOUBLE) = 1.5
CAST(dec AS DECIMAL(10,1)) = -2.6
CAST(i AS BIGINT) + 1 > 2147483647
CAST(i AS DOUBLE) = 7
CAST(i AS STRING) = '7'
CAST(dec AS STRING) = '1.50'
CAST(ok AS STRING) = 'true'
CAST(ok AS INT) = 1
CAST(i AS BOOLEAN)
CAST(d AS STRING) = '2024-01-01'
CAST(ts AS STRING) = '2024-01-01 10:30:05.123456'
CAST(d AS TIMESTAMP_NTZ) = ts
TRY_CAST(s AS INT) = 5
TRY_CAST(s AS INT) = -7
TRY_CAST(s AS INT) IS NULL
TRY_CAST(b AS INT) IS NULL
string(i) = '7'
bigint(i) = 7
st.a = 1
ST.A = 1
st.`my field` = 'q'
st IS NULL
st.a IS NULL
l IS NOT NULL
l[0] = 1
l[0] IS NULL
array_contains(l, 1)
NOT array_contains(l, 1)
size(l) = 1
m['k'] = 1
m['k'] IS NULL
size(m) = 1
`odd name.x` = -5
`Odd Name.X` IS NULL
order = 1
TRUE
FALSE
NULL
1 = 1
i = 1 OR (s LIKE 'a%' AND NOT ok)
current_date() > d
now() > tz
equal_null(i, NULL)
"""
"""Translated, and every row must come out as in Spark."""

RAISING = r"""
i / 0 = 1
i % 0 = 1
i div 0 = 1
x / 0 > 1
1 / i > 0
i * i > 0
t + t > 0
- i % 2 = 0
abs(i) > 0
CAST(x AS INT) > 0
CAST(b AS INT) % 2 = 0
CAST(s AS INT) > 0
CAST(s AS DOUBLE) > 0
CAST(s AS DATE) IS NULL
s = 5
s > 1.5
l[1] = 2
i = 'abc'
i = '5.5'
d = 'x'
ts = 'x'
ok = 'maybe'
s LIKE 'a\\bc'
s LIKE 'abc\\'
"""
"""Raise in Spark for at least one row; raise or are refused here."""

CAREFUL = r"""
lower(s) = 'ας'
lower(s) = upper(s)
"""
"""Right in Spark; raise here when a row has a character that DuckDB would treat differently."""

REFUSED = r"""
dec / 2 > 1
dec % 2 = 0
big * big > 0
big = 0.123456789012345
CAST(x AS STRING) = '1.1'
CAST(x AS DECIMAL(10,2)) = 1.1
CAST(s AS BOOLEAN)
CAST(tz AS STRING) = 'x'
TRY_CAST(s AS DOUBLE) = 5.5
TRY_CAST(s AS DATE) IS NULL
to_date(s, 'yyyy-MM-dd') = '2024-01-01'
to_timestamp(s) > '2024-01-01'
date_format(d, 'yyyy') = '2024'
s RLIKE '(?i)abc'
s RLIKE 'a(?=b)'
s RLIKE '(a)\\1'
s RLIKE 'a++'
s RLIKE '\\bx'
s RLIKE s
s LIKE s
s ILIKE 'É%'
sha1(s) = 'x'
split(s, ',')[0] = 'a'
exists(l, e -> e > 1)
element_at(l, 1) = 1
initcap(s) = 'Abc'
l[i] = 1
substring(s, i) = 'a'
i << 1 = 2
i ^ 1 = 0
~i = 0
d - DATE '2024-01-01' > INTERVAL 1 DAY
d + INTERVAL 1 HOUR > ts
l = array(1, 2)
st = named_struct('a', 1, 'my field', 'q')
concat(s, i) = 'abc1'
isnan(i)
bin = 'a'
pow(i, 2) > 4
"""
"""Right in Spark, and refused by name on the local engine."""


def lines(block: str) -> list[str]:
    return [line for line in block.strip("\n").split("\n") if line]
