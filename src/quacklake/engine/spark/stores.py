"""How Spark's reader gets at object stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_ALWAYS = {
    # Settings of the user's session that would change or lose what is read.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
}


def reader_options(paths: Sequence[str], options: Mapping[str, str]) -> dict[str, str]:
    """The options for a read of these paths."""
    return dict(_ALWAYS)
