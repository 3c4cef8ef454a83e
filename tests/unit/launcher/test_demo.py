"""The demo for real: dashboard and Spark started, stopped, killed; nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import run
from storage.store import open_reader

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

#: Spark starts in about ten seconds, on a machine that has nothing else to do.
STARTED_WITHIN_S = 240.0


class Demo:
    """A demo of the drift workload under way, on a store of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.store = folder / "runs.db"
        self.said = folder / "said.txt"
        command = [sys.executable, run.__file__, "demo", "drift", "--store", str(self.store)]
        with self.said.open("w") as output:
            self.process = subprocess.Popen(
                [*command, "--port", "0", "--set", "rate=2000", *options],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, run.NO_ENVIRONMENT: "1"},
            )
        self.address = ""

    def wait_for(self, what: Callable[[], Any]) -> Any:
        """What the question answers, once it is not empty."""
        deadline = time.monotonic() + STARTED_WITHIN_S
        while time.monotonic() < deadline:
            answer = what()
            if answer:
                return answer
            assert self.process.poll() is None, self.said.read_text()
            time.sleep(0.2)
        raise AssertionError(self.said.read_text())

    def wait_until_running(self) -> None:
        """Until the page says that a batch was recorded."""
        self.address = self.wait_for(self._printed_address)
        self.wait_for(lambda: [r for r in self._get("api/v1/runs") if r["state"] == "running"])

    def processes(self) -> set[int]:
        """Everything in the sessions of the two children, Java and Python workers included."""
        children = {pid for pid in _processes() if _stat(pid)[1] == self.process.pid}
        return {pid for pid in _processes() if _stat(pid)[3] in children}

    def _printed_address(self) -> str:
        found = re.findall(r"http://\S+", self.said.read_text())
        if not found:
            return ""
        (told,) = found
        address, page = told.rsplit("/", 1)
        assert page == "plan"
        return f"{address}/"

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=10) as answer:
            return json.load(answer)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[Any]:
    """[state, parent, group, session] of a process; ['Z', 0, 0, 0] when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["Z", 0, 0, 0]
    return [fields[0], *map(int, fields[1:4])]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    """A demo that runs; killed if the test left it."""
    started = Demo(tmp_path)
    try:
        started.wait_until_running()
        yield started
    finally:
        left = started.processes()
        started.process.kill()
        started.process.wait()
        for pid in left:
            if _stat(pid)[0] != "Z":
                os.kill(pid, signal.SIGKILL)


def gone_within(pids: set[int], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if all(_stat(pid)[0] == "Z" for pid in pids):
            return True
        time.sleep(0.1)
    return False


def test_ctrl_c_ends_everything_in_ten_seconds(demo: Demo) -> None:
    everything = demo.processes()
    assert len(everything) >= 3, "dashboard, backend and Java"
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(timeout=10) == 0
    assert gone_within(everything, 2)
    with open_reader(str(demo.store)) as reader:
        live, recorded = reader.runs()
    assert recorded.workload == "drift", "a new store begins with the recording of its workload"
    assert live.state == "ended", demo.said.read_text()
    assert live.note


def test_killing_the_demo_ends_everything_too(demo: Demo) -> None:
    everything = demo.processes()
    demo.process.kill()
    demo.process.wait()
    assert gone_within(everything, 12)
