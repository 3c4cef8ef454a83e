"""Streams that queries go on without, told to networks by marks in the spool."""

from __future__ import annotations

from collections.abc import Iterable, Set
from pathlib import Path

from backend.hosts.contract import InputSource
from backend.hosts.silence import Silences
from backend.hosts.spark.run.tasks import tag_of
from backend.workloads.replay import FileTimes, mark_end


class LeftBehind:
    """Streams that are silent for too long are as if they had ended, until they speak again. What
    says so is a mark that a batch takes, so that it comes again with the mark. names: of those;
    streams that are replayed are never silent."""

    def __init__(self, inputs: Iterable[InputSource], spool: Path, times: FileTimes) -> None:
        self.silences = Silences(input for input in inputs if input.replay is None)
        self.names: frozenset[str] = frozenset()
        self._spool, self._times = spool, times

    def mark(self, waited_for: Set[str]) -> None:
        """Mark those of the streams that networks wait for which are silent for too long now."""
        over = self.silences.over()
        new = (over - self.names) & waited_for
        for name in sorted(new):
            mark_end(self._spool, tag_of(name), self._times)
        self.names = (self.names & over) | new
