"""A process beside the engine that ends it when it was asked to end and does not.

An engine may be in code that lets no other thread of its process run, nor a handler of a signal.
Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

#: Signals that ask a process to end.
STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: What a process may take to end by itself.
GRACE_S: Final = 9.0
#: Signals that come so soon after the first are that one, sent to a process and to its group.
TOGETHER_S: Final = 0.5


class Watchdog:
    """Kills this process when it is still there ``grace_s`` after a signal that asks it to end, and
    at once when another one comes. A killed run goes on like any other when it is started again.

    Sees only signals that have a handler in Python. Is made, and closed, in the main thread.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        """Raises OSError when no process can be started."""
        watched, self._told = os.pipe()
        os.set_blocking(self._told, False)
        command = [sys.executable, "-I", "-S", str(Path(__file__)), str(os.getpid()), str(grace_s)]
        self._process = subprocess.Popen(command, stdin=watched, start_new_session=True)
        os.close(watched)
        self._before = signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)

    def close(self) -> None:
        """Watch no longer."""
        signal.set_wakeup_fd(self._before)
        os.close(self._told)
        self._process.wait()


def _watch(pid: int, grace_s: float) -> None:
    """Follow another process, whose signals are told on standard input, until it ended or must."""
    came, deadline = float("inf"), float("inf")
    why = f"it did not end within {grace_s:g} s"
    while select.select([0], [], [], _until(deadline))[0]:
        numbers = os.read(0, 64)
        if not numbers:
            return
        if not any(number in STOPPING for number in numbers):
            continue
        now = time.monotonic()
        if now > came + TOGETHER_S:
            why = "it was asked to end again"
            break
        came = min(came, now)
        deadline = came + grace_s
    print(f"planwatch: {why} and is killed; start it again to resume", file=sys.stderr, flush=True)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _until(deadline: float) -> float | None:
    """Seconds from now; None for ever."""
    return None if deadline == float("inf") else max(0.0, deadline - time.monotonic())


if __name__ == "__main__":
    _watch(int(sys.argv[1]), float(sys.argv[2]))
