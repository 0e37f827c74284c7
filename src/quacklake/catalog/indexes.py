"""Indexes of our own on the catalog tables, so that a plan looks at few rows of many.

The format has none. They are harmless to DuckDB, which reads and writes the tables all the same; catalogs in DuckDB
files get none, for there they would slow down what DuckDB itself writes.
"""

from __future__ import annotations
