"""Branches computed beside a run: one at a time, each by a process of its own that gives way.

That process does what 'run.py branch' does in a terminal; it ends with the one that started it.
"""

from __future__ import annotations

import queue
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from backend.processes.children import Child, Ended, Happenings
from backend.systems.contract import Refused
from storage.vocabulary.branches import asked_words, branch_words, failed_words
from storage.vocabulary.records import Event

RUN: Final = Path(__file__).resolve().parents[2] / "run.py"
_LOOK_S: Final = 0.2


class BranchProcesses:
    """Starts them. store: where the runs are. log: the file for what one says when it fails."""

    def __init__(self, store: str, log: Path) -> None:
        self._store, self._log = store, log
        self._happenings: Happenings = queue.SimpleQueue()
        self._child: Child | None = None
        self._words = ""

    def begin(self, run: str, at: int, knob: str, value: object, scope: str) -> None:
        """Begin with one; returns at once. Raises Refused while there is one."""
        if self._child is not None:
            raise Refused(f"{self._words} is being computed; ask again when it is ready")
        branch_options = branch_words(run, at, scope, self._store, f"{knob}={value}")
        command = [sys.executable, str(RUN), *branch_options]
        words = asked_words(run, at, knob, value)
        try:
            self._child = Child("branch", command, self._log, self._happenings)
        except OSError as error:
            raise Refused(f"{words} cannot be started: {error}") from error
        self._words = words

    def news(self) -> Sequence[Event]:
        """That the one that was begun is there, or why not."""
        if self._child is None or self._child.running:
            return ()
        ended, self._child = self._happenings.get(), None
        assert isinstance(ended, Ended)
        if ended.status == 0:
            return (Event("run", f"{self._words} is ready", "the Runs page has it"),)
        why = " ".join(ended.child.last_words(1)).removeprefix("planwatch: ")
        title = failed_words(self._words)
        return (Event("run", title, why or f"exit status {ended.status}", "error"),)

    def wait(self) -> None:
        """Until none is at work."""
        while self._child is not None and not self._child.wait(_LOOK_S):
            pass

    def stop(self) -> None:
        """Have the one at work end."""
        if self._child is not None:
            self._child.ask_to_stop()
