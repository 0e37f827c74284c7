"""Ids that nobody else has."""

from __future__ import annotations

import secrets
import time
import uuid


def new_uuid() -> str:
    """A UUID of version 7, as DuckDB gives tables and namespaces: the time first, so that they sort by age."""
    moment = int(time.time() * 1000).to_bytes(6, "big")
    raw = bytearray(moment + secrets.token_bytes(10))
    raw[6] = (raw[6] & 0x0F) | 0x70
    raw[8] = (raw[8] & 0x3F) | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))
