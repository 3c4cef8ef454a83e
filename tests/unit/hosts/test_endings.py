"""What is said of a run that failed: one sentence, with the next step."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from backend.hosts.contract import InputsFailed
from backend.hosts.spark.run.runner import RunFailed
from backend.hosts.spark.start import endings
from backend.hosts.spark.start.endings import why_failed
from storage.errors import StoreFull

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program that stands for Java."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(code: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
AGAIN = "start the same command again to resume the run"


def test_a_java_that_died_is_named_with_its_end(start: Start) -> None:
    killed = start("input()")
    killed.send_signal(signal.SIGKILL)
    said = f"Java died (killed by SIGKILL, as when memory is short); {AGAIN}"
    assert why_failed(REFUSED, killed) == (said, True)
    ended = start("raise SystemExit(3)")
    assert why_failed(REFUSED, ended) == (f"Java died (exit status 3); {AGAIN}", True)
    stopped = start("input()")
    stopped.send_signal(signal.SIGTERM)
    assert why_failed(REFUSED, stopped) == (f"Java died (killed by SIGTERM); {AGAIN}", True)


def test_while_java_lives_the_error_says_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "GONE_WITHIN_S", 0.05)
    java = start("input()")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    in_worker = RunFailed("OSError: [Errno 28] No space left on device")
    for error in (full, in_worker):
        text, is_known = why_failed(error, java)
        assert is_known
        assert text.startswith("the disk is full (OSError: [Errno 28] No space left on device")
        assert text.endswith(f"free some space, {AGAIN}")
    for known in (StoreFull("s.db: the disk is full"), InputsFailed("S: gone"), RunFailed("x")):
        assert why_failed(known, java) == (str(known), True)
    assert why_failed(ZeroDivisionError("of ours"), None) == ("ZeroDivisionError: of ours", False)
    assert why_failed(REFUSED, None) == (
        "ConnectionRefusedError: [Errno 111] Connection refused",
        True,
    )
