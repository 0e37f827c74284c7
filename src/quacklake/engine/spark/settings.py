"""The settings of a session that is started here, where nobody has given any: docs/spark_sessions.md lists them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from quacklake.engine.spark.connectors import packages_for

_MOST_MEMORY = 4 << 10
_LEAST_MEMORY = 1 << 10
"""In MB; what Spark itself would take."""
_LOOPBACK = "127.0.0.1"


def own_settings(places: Sequence[str]) -> dict[str, str]:
    """What a session is started with.

    Args:
        places: Where files are: the session brings what opens them.
    """
    found = {}
    # In a file or a log the bar is only noise.
    if not is_given("spark.ui.showConsoleProgress"):
        found["spark.ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    if not is_given("spark.master", "--master") and "MASTER" not in os.environ:
        found |= _alone()
    if not is_given("spark.jars.packages", "--packages"):
        found |= packages_for(places)
    return found


def _alone() -> dict[str, str]:
    """For a Spark that is all in one process."""
    found = {}
    if not is_given("spark.driver.memory", "--driver-memory") and "SPARK_DRIVER_MEMORY" not in os.environ:
        quarter = _memory() // 4 >> 20
        found["spark.driver.memory"] = f"{max(_LEAST_MEMORY, min(quarter, _MOST_MEMORY))}m"
    if not is_given("spark.driver.host", "spark.driver.bindAddress") and "SPARK_LOCAL_IP" not in os.environ:
        # Else it takes the address that the name of this machine stands for, which may be none.
        found |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    return found


def _memory() -> int:
    """How much memory there is for this process, in bytes."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else ""
    return min(most, int(text)) if text.isdecimal() else most


def is_given(*names: str) -> bool:
    """Whether Spark is told any of these already: what it is told here would take the place of that."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if any(name in arguments for name in names):
        return True
    defaults = _conf_folder() / "spark-defaults.conf"
    lines = defaults.read_text().splitlines() if defaults.exists() else []
    return any(line.strip().startswith(names) for line in lines)


def _conf_folder() -> Path:
    folder = os.environ.get("SPARK_CONF_DIR")
    if folder:
        return Path(folder)
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home) / "conf"
    import pyspark

    return Path(pyspark.__file__).parent / "conf"
