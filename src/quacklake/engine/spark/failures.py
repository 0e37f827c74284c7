"""What Spark raises while it writes, in our words."""

from __future__ import annotations

import re
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
_FULL = re.compile("No space left on device|Disk quota exceeded")
_CAUSE = re.compile(r"^Caused by: (?:[\w.$]+: )*(.+)$", re.MULTILINE)


@contextmanager
def spark_errors(plan: WritePlan) -> Iterator[None]:
    """Turn what Spark raises while it changes a table into our errors."""
    from pyspark.errors import PySparkException

    try:
        yield
    except QuacklakeError:
        raise
    except PySparkException as error:
        raise _explain(plan, str(error), error.getCondition() or "") from error
    except _java_errors() as error:
        # What Spark has no name for comes as Java said it.
        raise _explain(plan, str(error), "") from error


def _java_errors() -> tuple[type[Exception], ...]:
    try:
        from py4j.protocol import Py4JError
    except ImportError:
        # A client of Spark Connect has no Java beside it.
        return ()
    return (Py4JError,)


def _explain(plan: WritePlan, text: str, condition: str) -> QuacklakeError:
    # Py4J wraps what a task raised; the reason is in its words.
    reason = text.split("\n", 1)[0]
    if condition.startswith(_BAD_WORDS + _BAD_VALUES) or any(mark in text for mark in _BAD_VALUES):
        return InvalidInputError(f"{plan.table}: {reason}", hint="nothing was written")
    full = _FULL.search(text)
    if full is not None:
        return StorageError(f"Spark cannot write to {plan.path}: {full[0]}", hint="make room; nothing was committed")
    causes = _CAUSE.findall(text)
    return StorageError(f"Spark cannot write to {plan.path}: {causes[-1] if causes else reason}")
