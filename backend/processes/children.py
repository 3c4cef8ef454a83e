"""Child processes that never outlive their parent. Standard library only."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from backend.processes.watchdog import GRACE_S, STOPPING

#: Set for a child: its standard input is a lifeline, open as long as the parent lives.
LIFELINE: Final = "PLANWATCH_LIFELINE"
_TAIL_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """A child ended. status: its exit status, negative for the signal that killed it."""

    child: Child
    status: int


@dataclass(frozen=True, slots=True)
class Signalled:
    """This process was sent a signal that asks it to stop."""

    number: int


Happening: TypeAlias = Ended | Signalled
Happenings: TypeAlias = "queue.SimpleQueue[Happening]"


class Child:
    """A child process leading its own session, so that Ctrl-C reaches the parent alone.

    Its standard output is passed on to ours; its standard error (Spark is talkative) goes to the
    file ``log``, its owner's alone. Its end is put into ``happenings``. Raises OSError when it
    cannot be started.
    """

    def __init__(
        self, name: str, command: Sequence[str], log: Path, happenings: Happenings
    ) -> None:
        self.name, self.log = name, log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch(0o600)
        log.chmod(0o600)
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, LIFELINE: "1", "PYTHONUNBUFFERED": "1"},
            )
        self._ended, self._spoke = threading.Event(), threading.Event()
        threading.Thread(target=self._echo, daemon=True).start()
        threading.Thread(target=self._watch, args=(happenings,), daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id, which is its group's and its session's too."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._ended.is_set()

    @property
    def has_spoken(self) -> bool:
        """Whether it has written a line to its standard output."""
        return self._spoke.is_set()

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the child alone: what it started is its own to stop."""
        if self.running:
            self._process.terminate()

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within the time."""
        return self._ended.wait(timeout_s)

    def kill(self) -> None:
        """End it and everything in its process group, now."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def last_words(self, n_lines: int = 10) -> list[str]:
        """The last lines it wrote to its log."""
        with self.log.open("rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            handle.seek(max(0, size - _TAIL_BYTES))
            text = handle.read().decode("utf-8", errors="replace")
        return [line for line in text.splitlines() if line.strip()][-n_lines:]

    def _echo(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._spoke.set()
                with contextlib.suppress(OSError):  # our reader may be gone; the child goes on
                    sys.stdout.write(line.decode("utf-8", errors="replace"))
                    sys.stdout.flush()

    def _watch(self, happenings: Happenings) -> None:
        status = self._process.wait()
        self.kill()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._ended.set()
        happenings.put(Ended(self, status))


def stop_all(children: Sequence[Child], happenings: Happenings, grace_s: float = GRACE_S) -> bool:
    """Stop the children one after the other, in the given order, within ``grace_s`` in all.

    Whatever is left at the deadline, or when another signal arrives, is killed. Returns whether
    all of them ended by themselves.
    """
    deadline = time.monotonic() + grace_s
    alive = [child for child in children if child.running]
    for position, child in enumerate(alive):
        child.ask_to_stop()
        share_s = (deadline - time.monotonic()) * (0.8 if position < len(alive) - 1 else 1.0)
        if not _wait_unless_signalled(child, happenings, time.monotonic() + share_s):
            break
    clean = not any(child.running for child in alive)
    for child in alive:
        child.kill()
    return all([child.wait(2.0) for child in alive]) and clean


def _wait_unless_signalled(child: Child, happenings: Happenings, deadline: float) -> bool:
    """False once a signal arrived; True when the child ended or its time is over."""
    while child.running and (left_s := deadline - time.monotonic()) > 0:
        with contextlib.suppress(queue.Empty):
            if isinstance(happenings.get(timeout=left_s), Signalled):
                return False
    return True


@contextmanager
def signals_into(happenings: Happenings) -> Iterator[None]:
    """Within the block SIGINT, SIGTERM and SIGHUP are put into the queue instead of acting."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        signal.signal(number, lambda received, frame: happenings.put(Signalled(received)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def hold_lifeline(grace_s: float = GRACE_S) -> bool:
    """In a child: when the parent is gone, however it went, stop; after ``grace_s`` die. Whether
    this is one.

    Does nothing in a process that was started without a lifeline.
    """
    if os.environ.pop(LIFELINE, None) is None:
        return False
    threading.Thread(target=_follow_parent, args=(grace_s,), daemon=True).start()
    return True


def _follow_parent(grace_s: float) -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace_s)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
