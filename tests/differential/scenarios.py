"""Every life of a lake that the differential tests live."""

from __future__ import annotations

from tests.differential.lives import columns, files, names, nested, rows, values
from tests.differential.lives.life import Life

LIVES: tuple[Life, ...] = (
    *values.LIVES,
    *nested.LIVES,
    *columns.LIVES,
    *rows.LIVES,
    *files.LIVES,
    *names.LIVES,
)


def slug(life: Life) -> str:
    """The name of a life as part of a test's id and of a folder."""
    return life.name.replace(",", "").replace(" ", "-")
