"""A standalone Spark master with workers on this machine, each as if it had a machine of its own.

``python -m bench cluster`` starts one and prints what to type; Ctrl-C ends it. A worker has folders
of its own and a Python without packages: it finds nothing of ours but what is shipped.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyspark

from backend.hosts.spark.session.java import find_java

ROOT: Final = Path(__file__).resolve().parents[1]
SPARK_HOME: Final = Path(pyspark.__file__).parent
_MASTER: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED: Final = "Successfully registered with master"
#: A process group that ends with its command, and with whoever holds its standard input.
_HELD: Final = '("$@"; kill -9 0) & cat > /dev/null; kill -9 0'
#: So long one of its processes may take to start.
STARTED_WITHIN_S: Final = 90.0


class NotStarted(RuntimeError):
    """A process of the cluster did not start; the message names its log."""


class Cluster:
    """A context manager: a master and workers of one core and one GiB each. folder: theirs."""

    def __init__(self, folder: Path, n_workers: int = 2) -> None:
        self.url = ""
        self._folder, self._n_workers = folder, n_workers
        self._java = find_java().home
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Cluster:
        try:
            address = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            self.url = self._started("master", "master.Master", address, _MASTER)[1]
            for number in range(self._n_workers):
                self.start_worker(f"worker-{number}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(list(self._processes)):
            self.kill(name)

    @property
    def environment(self) -> dict[str, str]:
        """Of a program that uses the cluster: all addresses are on this machine."""
        return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}

    @property
    def workers(self) -> list[str]:
        """Those at work, by name."""
        return [name for name in self._processes if name != "master"]

    def start_worker(self, name: str) -> None:
        """A worker more. Raises NotStarted."""
        work = self._folder / name / "work"
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(work))
        address = ("--host", "127.0.0.1", "--webui-port", "0", *size, self.url)
        self._started(name, "worker.Worker", address, re.compile(_REGISTERED))

    def kill(self, name: str) -> None:
        """As when the machine goes down: the process and what it started, with kill -9."""
        process = self._processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)

    def _started(
        self, name: str, kind: str, words: tuple[str, ...], sign: re.Pattern[str]
    ) -> re.Match[str]:
        """Start a process, and wait until it says so in its log."""
        home = self._folder / name
        home.mkdir(parents=True)
        log = home / "log.txt"
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        with log.open("wb") as out:
            self._processes[name] = process = subprocess.Popen(
                ["sh", "-c", _HELD, "sh", *command, *words],
                cwd=home,
                env=self._surroundings(home),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + STARTED_WITHIN_S
        while process.poll() is None and time.monotonic() < deadline:
            address = sign.search(log.read_text(encoding="utf-8", errors="replace"))
            if address is not None:
                return address
            time.sleep(0.1)
        raise NotStarted(f"Spark's {name} did not start; see {log}")

    def _surroundings(self, home: Path) -> dict[str, str]:
        """The environment of a machine where Spark, Java and a bare Python are installed."""
        python = home / "python"
        make = [sys.executable, "-m", "venv", "--without-pip", str(python)]
        subprocess.run(make, check=True)
        local = home / "local"
        local.mkdir()
        return {
            "PATH": f"{python / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(local),
            "JAVA_HOME": str(self._java),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_DIRS": str(local),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
        }


def main() -> None:
    """Until Ctrl-C."""
    with TemporaryDirectory(prefix="planwatch-cluster-") as name, Cluster(Path(name)) as cluster:
        shared = Path(name) / "shared"
        print(f"A master and {len(cluster.workers)} workers of one core run. Type, say:\n")
        options = f"--master {cluster.url} --shared {shared}"
        print(f"SPARK_LOCAL_IP=127.0.0.1 python3 run.py backend flights --once {options}\n")
        print("Ctrl-C ends them.", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
