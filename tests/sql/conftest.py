"""Spark for statements."""

from __future__ import annotations

from tests.engine.spark.conftest import spark as spark
