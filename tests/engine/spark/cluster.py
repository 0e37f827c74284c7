"""A cluster of Spark's own kind: a master and workers on loopback, gone when the block ends, whatever happened in it.

Workers get an environment with nothing in it but what Java needs, as on a machine that nobody prepared.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.servers import free_port

READY_SECONDS = 90.0
STOP_SECONDS = 20.0
_HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster."""

    url: str
    logs: Path
    """The folder of what the master and the workers say, and of what their executors wrote."""

    def said(self) -> str:
        """The ends of everything that they said."""
        paths = [path for path in sorted(self.logs.rglob("*")) if path.suffix == ".log" or path.name == "stderr"]
        return "\n".join(f"{path}:\n{path.read_text(errors='replace')[-2000:]}" for path in paths)


@contextmanager
def running_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and workers with one core each.

    Args:
        folder: For logs and for what executors write.
        workers: How many.
    """
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "LANG") if name in os.environ}
    environment = {**kept, "SPARK_HOME": str(_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder)}
    port, page = free_port(), free_port()
    cluster = Cluster(f"spark://127.0.0.1:{port}", folder)
    with ExitStack() as stack:
        master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        process = stack.enter_context(_process(master, environment, folder / "master.log"))
        _wait(lambda: _answers(port), process, cluster)
        for number in range(workers):
            home = folder / f"worker{number}"
            worker = ["worker.Worker", "--host", "127.0.0.1", "-c", "1", "-m", "1g", "--webui-port", str(free_port())]
            worker += ["--work-dir", str(home), cluster.url]
            process = stack.enter_context(_process(worker, environment, folder / f"worker{number}.log"))
        _wait(lambda: _count_workers(page) == workers, process, cluster)
        yield cluster


@contextmanager
def _process(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    line = [str(_HOME / "bin" / "spark-class"), f"{_DEPLOY}.{command[0]}", *command[1:]]
    with log.open("wb") as output:
        # In a group of its own: executors are its children, and go with it.
        process = subprocess.Popen(
            line, env=environment, cwd=log.parent, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _count_workers(page: int) -> int:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
        return len([each for each in json.load(answer)["workers"] if each["state"] == "ALIVE"])
    return 0


def _wait(ready: Callable[[], bool], process: subprocess.Popen[bytes], cluster: Cluster) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the cluster did not start: {cluster.said()}")
        time.sleep(0.2)
