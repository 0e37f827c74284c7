"""What Spark computes in another way than DuckDB and one expression cannot say, as macros of DuckDB.

A query does not say the types of its parts, so the macros ask for them; DuckDB answers when it plans the query.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_MACROS = {
    # A cast to a whole number cuts off what is behind the point; a text must be a whole number.
    "quacklake_whole": """(v) AS CASE
        WHEN typeof(v) IN ('FLOAT', 'DOUBLE')
            THEN CAST(CAST(trunc(TRY_CAST(CAST(v AS VARCHAR) AS DOUBLE)) AS HUGEINT) AS VARCHAR)
        WHEN typeof(v) LIKE 'DECIMAL%' THEN regexp_replace(CAST(v AS VARCHAR), '[.].*', '')
        WHEN typeof(v) = 'BOOLEAN' THEN CASE CAST(v AS VARCHAR) WHEN 'true' THEN '1' WHEN 'false' THEN '0' END
        WHEN typeof(v) = 'VARCHAR' AND NOT regexp_full_match(trim(CAST(v AS VARCHAR)), '[+-]?[0-9]+')
            THEN 'no whole number: ' || CAST(v AS VARCHAR)
        ELSE trim(CAST(v AS VARCHAR)) END""",
    # Texts of moments have no zone; those of other types would differ in too many ways.
    "quacklake_text": """(v) AS CASE
        WHEN typeof(v) IN ('FLOAT', 'DOUBLE')
            THEN CASE WHEN abs(TRY_CAST(CAST(v AS VARCHAR) AS DOUBLE)) BETWEEN 1e-3 AND 9999999
                    OR TRY_CAST(CAST(v AS VARCHAR) AS DOUBLE) = 0 OR v IS NULL THEN CAST(v AS VARCHAR)
                ELSE error('a number as small or large as ' || CAST(v AS VARCHAR) || ' has another text on Spark') END
        WHEN typeof(v) = 'TIMESTAMP WITH TIME ZONE' THEN regexp_replace(CAST(v AS VARCHAR), '[+]00$', '')
        WHEN typeof(v) IN ('BLOB', 'INTERVAL', 'TIME WITH TIME ZONE') OR typeof(v) LIKE 'STRUCT%'
            OR typeof(v) LIKE 'MAP%' OR typeof(v) LIKE '%]'
            THEN error('a value of the type ' || typeof(v) || ' has another text on Spark')
        ELSE CAST(v AS VARCHAR) END""",
    "quacklake_has": """(l, v) AS CASE
        WHEN list_contains(l, v) THEN TRUE WHEN list_count(l) < len(l) THEN NULL ELSE list_contains(l, v) END""",
    # What has brackets is a list, counted from zero and with an end that counts, or a map, which has a key or not. Both
    # have a length as JSON only, which is asked for where nothing was found.
    "quacklake_item": """(l, i) AS CASE
        WHEN typeof(l) LIKE 'MAP%' THEN l[i]
        WHEN l IS NULL OR i IS NULL THEN NULL
        WHEN i < 0 THEN error('the index ' || CAST(i AS VARCHAR) || ' is out of bounds')
        WHEN l[i + 1] IS NOT NULL THEN l[i + 1]
        WHEN i >= json_array_length(to_json(l)) THEN error('the index ' || CAST(i AS VARCHAR) || ' is out of bounds')
        END""",
    "quacklake_element": """(l, i) AS CASE
        WHEN typeof(l) LIKE 'MAP%' THEN l[i]
        WHEN l IS NULL OR i IS NULL THEN NULL
        WHEN i <> 0 AND l[i] IS NOT NULL THEN l[i]
        WHEN i = 0 OR abs(i) > json_array_length(to_json(l))
            THEN error('the index ' || CAST(i AS VARCHAR) || ' is out of bounds')
        END""",
    "quacklake_or_null": "(l) AS CASE WHEN l IS NULL OR len(l) = 0 THEN [NULL] ELSE l END",
}
_NAMES = re.compile(rf"\b({'|'.join(_MACROS)})\(", re.IGNORECASE)


def define_macros(cursor: duckdb.DuckDBPyConnection, text: str) -> None:
    """Define the macros that a query uses."""
    for name in {found.lower() for found in _NAMES.findall(text)}:
        cursor.execute(f"CREATE OR REPLACE TEMP MACRO {name}{_MACROS[name]}")
