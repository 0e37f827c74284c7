"""What Spark raises while it reads and writes, in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from quacklake.engine.spark.connectors import builder_lines
from quacklake.errors import AuthError, InvalidInputError, MissingExtraError, QuacklakeError, StorageError
from quacklake.plan.write import WritePlan
from quacklake.secrets.keyring import Keyring
from quacklake.secrets.kinds import Kind, bucket_of, kind_of

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
_NO_CLASS = (
    "No FileSystem for scheme",
    "ClassNotFoundException: Class org.apache.hadoop.fs.",
    "ClassNotFoundException: Class com.google.cloud.hadoop.",
)
_NO_BUCKET = ("UnknownStoreException", "NoSuchBucket", "The specified bucket does not exist", "ContainerNotFound")
_DENIED = (
    "AccessDenied",
    "AccessControlException",
    "NoAuthWithAWSException",
    "NoAwsCredentialsException",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "AuthenticationFailed",
    "AuthorizationFailure",
    "403 Forbidden",
    "Status Code: 403",
    "Status Code: 401",
)
_FULL = re.compile("No space left on device|Disk quota exceeded")
_OURS = re.compile(r"quacklake\.errors\.(\w+): (.*)")
"""What a task says that runs our code."""
_FROM_TASKS = {"StorageError": StorageError, "AuthError": AuthError}
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.*)$", re.MULTILINE)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@contextmanager
def planning_errors(paths: Sequence[str], secrets: Keyring) -> Iterator[None]:
    """Turn what Spark raises when it first looks at files into our errors, where they are about files."""
    from pyspark.errors import PySparkException

    known: tuple[type[Exception], ...] = (PySparkException, *java_errors())
    with secrets.hiding():
        try:
            yield
        except known as error:
            text = str(error)
            if "PATH_NOT_FOUND" in text or "FileNotFoundException" in text:
                hint = "was it removed from outside?"
                raise StorageError(f"Spark finds a file missing: {_reason(text)}", hint=hint) from error
            fault = _about_store(text, paths[0], "read") if paths else None
            if fault is not None:
                raise fault from error
            raise


@contextmanager
def query_errors() -> Iterator[None]:
    """Turn what Spark raises about a query of a user's into our errors."""
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        yield
    except (AnalysisException, ParseException) as error:
        # Spark shows its own plan behind its reason.
        reason = (error.getMessage() or str(error)).split("\n== SQL", 1)[0].split(";\n'", 1)[0]
        raise InvalidInputError(reason.strip()) from error
    except PySparkException as error:
        raise _explain_query(str(error), f"{error.getCondition()}") from error
    except java_errors() as error:
        raise _explain_query(str(error), "") from error


def _explain_query(text: str, condition: str) -> QuacklakeError:
    missing = _about_packages(text)
    if missing is not None:
        return missing
    reason = _reason(text)
    if "awaitResult" in reason:
        # Rows that come partition by partition are waited for, and what was waited for says why there are none.
        reason = next((found[1] for found in _CAUSE.finditer(text) if "awaitResult" not in found[1]), reason)
    if any(mark in f"{condition} {text}" for mark in _BAD_VALUES):
        return InvalidInputError(reason)
    return StorageError(f"Spark cannot run the query: {reason}")


@contextmanager
def spark_errors(plan: WritePlan, secrets: Keyring) -> Iterator[None]:
    """Turn what Spark raises while it changes a table into our errors."""
    from pyspark.errors import PySparkException

    with secrets.hiding():
        try:
            yield
        except QuacklakeError:
            raise
        except PySparkException as error:
            raise _explain(str(error), error.getCondition() or "", plan) from error
        except java_errors() as error:
            # What Spark has no name for comes as Java said it.
            raise _explain(str(error), "", plan) from error


def java_errors() -> tuple[type[Exception], ...]:
    """What comes out of Java itself."""
    try:
        from py4j.protocol import Py4JError
    except ImportError:
        # A client of Spark Connect has no Java beside it.
        return ()
    return (Py4JError,)


def _explain(text: str, condition: str, plan: WritePlan) -> QuacklakeError:
    # Py4J wraps what a task raised; the reason is in its words.
    ours = _OURS.search(text)
    if ours is not None and ours[1] in _FROM_TASKS:
        return _FROM_TASKS[ours[1]](ours[2])
    fault = _about_packages(text) or _about_store(text, plan.path, "write")
    if fault is not None:
        return fault
    full = _FULL.search(text)
    if full is not None:
        return StorageError(f"Spark cannot write to {plan.path}: {full[0]}", hint="make room; nothing was committed")
    reason = _reason(text)
    if condition.startswith(_BAD_WORDS + _BAD_VALUES) or any(mark in text for mark in _BAD_VALUES):
        return InvalidInputError(f"{plan.table}: {reason}", hint="nothing was written")
    return StorageError(f"Spark cannot write to {plan.path}: {reason}")


def _about_packages(text: str) -> QuacklakeError | None:
    """The error for what tasks cannot import."""
    found = _NO_MODULE.search(text)
    if found is None:
        return None
    how = "install the version of the driver there, or send it with addPyFile: docs/spark_sessions.md says how"
    return MissingExtraError(f"Spark's executors have no package {found[1].partition('.')[0]!r}", hint=how)


def _about_store(text: str, path: str, act: str) -> QuacklakeError | None:
    """The error for what Hadoop says about an object store."""
    # Spark's own name for the path may be ours with more in its scheme.
    kind: Kind | None = "s3" if path.startswith("s3a-") else kind_of(path)
    if kind is None:
        return None
    if any(mark in text for mark in _NO_CLASS):
        return MissingExtraError(
            f"Spark has nothing to {act} {path.partition('://')[0]}:// with",
            hint=f"put {builder_lines(kind)} into the builder of the session, before Spark has started",
        )
    if any(mark in text for mark in _NO_BUCKET):
        return StorageError(f"there is no bucket {bucket_of(path)}: Spark cannot {act} {path}")
    if any(mark in text for mark in _DENIED):
        return AuthError(f"Spark has no permission to {act} {path}", hint="check session.secrets() or Spark's settings")
    return None


def _reason(text: str) -> str:
    lines = [line.removeprefix(": ") for line in text.splitlines() if line.strip()]
    # Py4J begins with the name of an object of its own.
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1]
    return lines[0] if lines else ""
