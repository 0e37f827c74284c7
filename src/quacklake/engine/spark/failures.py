"""What Spark raises while it writes, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quacklake.errors import InvalidInputError, QuacklakeError, StorageError
from quacklake.plan.write import WritePlan

_BAD_VALUES = (
    "USER_RAISED_EXCEPTION",
    "CAST_OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "CAST_INVALID_INPUT",
    # The class of errors about values: a division by zero, a number that is too large, a text that is no date.
    "SQLSTATE: 22",
)
_BAD_WORDS = ("DATATYPE_MISMATCH", "UNRESOLVED_ROUTINE", "WRONG_NUM_ARGS", "INVALID_PARAMETER_VALUE")
"""What an expression that makes no sense is called."""


@contextmanager
def spark_errors(plan: WritePlan) -> Iterator[None]:
    """Turn what Spark raises while it changes a table into our errors."""
    from pyspark.errors import PySparkException

    try:
        yield
    except QuacklakeError:
        raise
    except PySparkException as error:
        # Py4J wraps what a task raised; the reason is in its words.
        text = str(error)
        reason = text.split("\n", 1)[0]
        condition = error.getCondition() or ""
        if condition.startswith(_BAD_WORDS + _BAD_VALUES) or any(mark in text for mark in _BAD_VALUES):
            raise InvalidInputError(f"{plan.table}: {reason}", hint="nothing was written") from error
        raise StorageError(f"Spark cannot write to {plan.path}: {reason}") from error
