"""Two processes supervised for real: throw-away programs stand in for the page and the engine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PAGE = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from backend.processes.children import hold_lifeline

class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *args):
        pass

hold_lifeline(2.0)
try:
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer)
    print("the page listens", flush=True)
    server.serve_forever()
except OSError as error:
    sys.exit(f"cannot listen: {error}")
"""
#: Starts a helper that ignores signals, as Java does, and says its process id.
ENGINE = """
import signal, subprocess, sys, time
from backend.processes.children import hold_lifeline

hold_lifeline(2.0)
helper = subprocess.Popen([sys.executable, "-c", '''
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
'''])
print("helper", helper.pid, flush=True)
def stop(number, frame):
    if "deaf" in sys.argv:
        return
    print("engine stopped cleanly", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("engine is ready", flush=True)
print("a word of Spark's", file=sys.stderr, flush=True)
if "fail" in sys.argv:
    sys.exit(3)
if "refuse" in sys.argv:
    sys.exit(2)
while True:
    time.sleep(0.2)
"""
DRIVER = """
import queue, sys
from pathlib import Path
from backend.processes.children import signals_into
from backend.launch.supervisor import Supervisor

page, engine, logs, port, *words = sys.argv[1:]
happenings = queue.SimpleQueue()
with signals_into(happenings):
    supervisor = Supervisor(
        [sys.executable, page, port],
        [sys.executable, engine, *words],
        Path(logs), "127.0.0.1", int(port), grace_s=2.0
    )
    status = supervisor.run(happenings)
print("status", status, flush=True)
"""


@dataclass
class Driven:
    """A supervisor under way, in a process of its own."""

    process: subprocess.Popen[str]
    logs: Path
    port: int

    def __post_init__(self) -> None:
        self.said: list[str] = []
        self._new: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.strip())
            self._new.append(line.strip())

    def wait_for(self, text: str, timeout_s: float = 20.0) -> str:
        """The first line holding the text that was not waited for yet; two programs speak here."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = next((line for line in self._new if text in line), None)
            if found is not None:
                self._new.remove(found)
                return found
            time.sleep(0.02)
        raise AssertionError(f"{text!r} was not said, but {self.said}")

    def close(self) -> None:
        """Leave neither process nor pipe behind."""
        self.process.kill()
        self.process.wait()
        self._listener.join(timeout=10)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def helper(self) -> int:
        """The process id of the engine's helper."""
        return int(self.wait_for("helper").split()[1])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Driven]]:
    """Starts a supervisor; every process it leaves behind fails the test."""
    for name, text in (("page", PAGE), ("engine", ENGINE), ("driver", DRIVER)):
        (tmp_path / f"{name}.py").write_text(text)
    started: list[Driven] = []

    def go(*words: str, port: int | None = None) -> Driven:
        number = port or unused_port()
        files = [str(tmp_path / f"{name}.py") for name in ("driver", "page", "engine")]
        process = subprocess.Popen(
            [sys.executable, *files, str(tmp_path / "logs"), str(number), *words],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(Driven(process, tmp_path / "logs", number))
        return started[-1]

    yield go
    for driven in started:
        driven.close()


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pid: int, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} outlived its parent"
        time.sleep(0.05)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_both_cleanly(start: Callable[..., Driven], number: signal.Signals) -> None:
    driven = start()
    assert f":{driven.port}/" in driven.wait_for("Planwatch is at")
    helper = driven.helper()
    driven.wait_for("engine is ready")
    since = time.monotonic()
    driven.process.send_signal(number)
    driven.wait_for("engine stopped cleanly")
    assert driven.wait_for("status") == "status 0"
    assert time.monotonic() - since < 5
    assert not listens(driven.port)
    wait_until_gone(helper, 1)
    assert "Not everything" not in "".join(driven.said)


def test_a_deaf_engine_is_killed_in_time(start: Callable[..., Driven]) -> None:
    driven = start("deaf")
    helper = driven.helper()
    driven.wait_for("engine is ready")
    since = time.monotonic()
    driven.process.send_signal(signal.SIGINT)
    driven.wait_for("Not everything stopped in time")
    driven.wait_for("status 0")
    assert time.monotonic() - since < 4
    wait_until_gone(helper, 1)


def test_a_second_signal_kills_at_once(start: Callable[..., Driven]) -> None:
    driven = start("deaf")
    helper = driven.helper()
    driven.wait_for("engine is ready")
    driven.process.send_signal(signal.SIGINT)
    driven.wait_for("Stopping")
    since = time.monotonic()
    driven.process.send_signal(signal.SIGINT)
    driven.wait_for("status 0")
    assert time.monotonic() - since < 2
    wait_until_gone(helper, 1)


def test_killing_the_supervisor_leaves_nothing(start: Callable[..., Driven]) -> None:
    driven = start("deaf")
    helper = driven.helper()
    driven.wait_for("engine is ready")
    driven.process.kill()
    driven.process.wait()
    wait_until_gone(helper, 5)
    assert not listens(driven.port)


def test_the_page_outlives_a_failed_engine(start: Callable[..., Driven]) -> None:
    driven = start("fail")
    driven.wait_for("The backend ended with status 3")
    driven.wait_for("a word of Spark's")
    driven.wait_for("stays up until Ctrl-C")
    assert listens(driven.port)
    driven.process.send_signal(signal.SIGTERM)
    driven.wait_for("status 3")
    assert "a word of Spark's" in (driven.logs / f"backend-{driven.port}.log").read_text()


def test_a_refused_request_ends_it(start: Callable[..., Driven]) -> None:
    driven = start("refuse")
    assert driven.wait_for("status") == "status 2"
    assert driven.said[-2:] == ["a word of Spark's", "status 2"]
    assert not listens(driven.port)


def test_a_port_lost_to_another_is_reported_as_such(start: Callable[..., Driven]) -> None:
    """Even when the other one answers as ours would: it may be a second demo."""
    first = start()
    first.wait_for("engine is ready")
    second = start(port=first.port)
    second.wait_for("status None")
    assert second.said == ["status None"]  # no engine was started
    first.process.send_signal(signal.SIGINT)
    first.wait_for("status 0")
