"""The bounds of a file's columns as numbers that sort as the values do, in SQLite's words.

Statistics are texts. A pair of bounds has a form (numbers, dates, moments, moments in UTC) when both texts have it,
and of these forms each text has a number: its key. Keys are compared with keys of the same form only. The words are
those of indexes too, which SQLite uses only for the very same expression; every build of SQLite knows them, for
whoever writes to the lake has to compute them.
"""

from __future__ import annotations

from quacklake.plan.prune import Domain

_DATE = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_MOMENT = f"{_DATE} [0-9][0-9]:[0-9][0-9]:[0-9][0-9]"

FORMS: dict[Domain, str] = {"whole": "n", "real": "n", "date": "d", "timestamp": "t", "timestamptz": "z"}
"""The form that the bounds of a column have to have to be understood; in no other one can they be told apart."""


def _form(text: str) -> str:
    return (
        f"CASE WHEN {text} NOT GLOB '*[^0-9.eE+-]*' AND {text} NOT GLOB '*[0-9]-*'"
        f" AND ({text} GLOB '[0-9]*' OR {text} GLOB '-[0-9]*') THEN 'n'"
        f" WHEN {text} GLOB '{_DATE}' THEN 'd'"
        f" WHEN {text} GLOB '{_MOMENT}*' AND substr({text}, 20) NOT GLOB '*[^0-9.]*' THEN 't'"
        f" WHEN {text} GLOB '{_MOMENT}*+00' AND substr({text}, 20, length({text}) - 22) NOT GLOB '*[^0-9.]*' THEN 'z'"
        " END"
    )


def _key(text: str) -> str:
    def part(start: int, length: int = 2) -> str:
        return f"CAST(substr({text}, {start}, {length}) AS INTEGER)"

    # Every month counts as the longest: it is enough that later moments have greater numbers.
    days = f"({part(1, 4)} * 12 + {part(6)}) * 31 + {part(9)}"
    seconds = f"(({days}) * 24 + {part(12)}) * 3600 + {part(15)} * 60 + {part(18)}"
    return f"CASE WHEN {text} GLOB '{_DATE}*' THEN {seconds} ELSE CAST({text} AS NUMERIC) END"


FORM = f"CASE {_form('min_value')} WHEN {_form('max_value')} THEN {_form('min_value')} END"
"""The form of a pair of bounds; NULL when it has none."""
KEY = {text: _key(text) for text in ("min_value", "max_value")}
"""The number that a bound counts as."""
WIDTH = f"({KEY['max_value']}) - ({KEY['min_value']})"
"""How far the bounds are apart."""


def moment_key(text: str) -> int:
    """The key of a date or moment as `plan.prune` writes them."""

    def part(start: int, end: int) -> int:
        return int(text[start:end] or 0)

    days = (part(0, 4) * 12 + part(5, 7)) * 31 + part(8, 10)
    return (days * 24 + part(11, 13)) * 3600 + part(14, 16) * 60 + part(17, 19)
