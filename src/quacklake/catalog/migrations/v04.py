"""From 0.4 to 1.0: nothing but the number."""

from __future__ import annotations

from quacklake.catalog.migrations.editor import CatalogEditor


def upgrade(editor: CatalogEditor) -> str:
    """Make the step; returns the version that the lake has now."""
    return editor.set_version("1.0")
