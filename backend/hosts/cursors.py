"""The tuples of a replayed input, taken batch by batch in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from backend.hosts.contract import BatchLoop, InputSource, cause
from backend.operators.task import CHUNK_TUPLES, Arrivals
from backend.workloads.contract import in_batches
from backend.workloads.file_source import FileSource
from backend.workloads.row_groups import Refutes
from backend.workloads.sources import ReplaySource

#: Takes some tuples of an input, with their arrival numbers.
Taking: TypeAlias = Callable[[str, pa.RecordBatch, Arrivals], None]
#: Counts tuples of an input that are not read; their times, where it has a timestamp.
PassingOver: TypeAlias = Callable[[str, int, "pa.Array[Any] | None"], None]


class InputCursor:
    """Where an input stands. once: it does not begin anew at its end."""

    def __init__(self, input: InputSource, loop: BatchLoop, once: bool) -> None:
        self._input, self._name, self._loop, self._once = input, input.name, loop, once
        self._source: ReplaySource | None = input.replay
        self._position = input.start
        self._groups = self._source if isinstance(self._source, FileSource) else None
        self._pass_over: PassingOver | None = None
        self._held: pa.Table | None = None  # tuples that came while there was nothing to do
        self.failure = "" if input.replay is not None else "this host reads replayed streams only"

    def skip(self, refutes: Refutes | None, pass_over: PassingOver) -> None:
        """From now on row groups that are refuted are not read. None: all are."""
        self._pass_over = None if refutes is None else pass_over
        if self._groups is not None:
            self._groups.passing.refutes = refutes
            self._groups.passing.timestamp = self._input.stream.timestamp

    @property
    def ended(self) -> bool:
        """It gives no more tuples."""
        if self.failure or self._source is None:
            return True
        n = self._source.n_tuples
        if n is None or (self._position < n):
            return False
        is_at_end = n == 0 or self._position % n == 0
        loops = not self._once and self._loop.input_knob(self._name, "at_end") == "loop"
        return is_at_end and (n == 0 or not loops)

    @property
    def intake(self) -> str:
        """Whether it is read, as ``backend.engine.knobs.INTAKE`` says."""
        return "on" if self.failure else str(self._loop.input_knob(self._name, "intake"))

    @property
    def rests(self) -> bool:
        """It gives no tuples at the moment."""
        return self.ended or self.intake != "on"

    @property
    def is_quiet(self) -> bool:
        """It rests, or is one without a known end that has no tuples by now."""
        if self.rests or self._source is None or self._source.n_tuples is not None:
            return self.rests
        try:
            if self._groups is not None:
                has_more = self._groups.has_more(self._position)
            else:
                if self._held is None:
                    rows = self._source.slice(self._position, CHUNK_TUPLES)
                    self._held = rows if len(rows) else None
                has_more = self._held is not None
        except Exception:  # the next batch comes upon it, too
            return False
        return not has_more and self._source.n_tuples is None

    def feed(self, take: Taking, n_tuples: int) -> int:
        """Have the next tuples taken; how many. A batch in which the end of a turn is first seen
        ends there: how long the stream is its job does not know."""
        if self.rests:
            return 0
        most = int(self._loop.input_knob(self._name, "max_batch_tuples"))
        left = min(n_tuples, most) if most > 0 else n_tuples
        before = self._position
        while left > 0 and not self.ended:
            assert self._source is not None
            n = self._source.n_tuples
            count = self._some(take, left)
            left = left - count if n == self._source.n_tuples else 0
        return self._position - before

    def feed_exactly(self, take: Taking, n_tuples: int) -> None:
        """Have so many of the next tuples taken, though it rests; a source that lacks some has
        failed."""
        left, tries = n_tuples, 0
        while left > 0 and tries < 2 and not self.ended:
            before = self._position
            self._some(take, left)
            n_taken = self._position - before
            # at the end of files that is first seen now, the next turn gives the rest
            left, tries = left - n_taken, 0 if n_taken else tries + 1
        if left > 0 and not self.failure:
            self.failure = f"{left} of {n_tuples} tuples are not there"

    def _some(self, take: Taking, most: int) -> int:
        """Have at most so many tuples taken, none from behind the source's end; how many it were,
        or, where there are none by now, were asked for."""
        assert self._source is not None
        n = self._source.n_tuples
        at = self._position if n is None else self._position % n
        count = min(most, CHUNK_TUPLES, most if n is None else n - at)
        try:
            if n_passed := self._passed(at, most):
                return n_passed
            table = self._slice(at, count)
        except Exception as error:
            self.failure = cause(error)
            return count
        for rows in in_batches(table):
            end = self._position + len(rows)
            take(self._name, rows, np.arange(self._position, end))
            self._position = end
        return len(table) or count

    def _passed(self, at: int, most: int) -> int:
        """Pass over tuples that need not be read, at most so many; how many it were."""
        if self._groups is None or self._pass_over is None:
            return 0
        group = self._groups.refuted(at)
        count = 0 if group is None else min(most, group.n_left)
        if group is not None and count:
            times = None if group.times is None else group.times.slice(group.n_passed, count)
            self._groups.pass_over(group, count)
            self._pass_over(self._name, count, times)
            self._position += count
        return count

    def _slice(self, at: int, count: int) -> pa.Table:
        """The next tuples, at most so many."""
        assert self._source is not None
        if self._held is None:
            return self._source.slice(at, count)
        held, self._held = self._held, self._held.slice(count) if len(self._held) > count else None
        return held.slice(0, count)

    def facts(self) -> dict[str, object]:
        """What InputResult says of the source."""
        rounds = self._input.rounds(self._position)
        facts = {"failure": self.failure, "ended": self.ended, "rounds": rounds}
        facts["files"] = self._input.files
        if self._groups is None or self._pass_over is None:
            return facts
        passing = self._groups.passing
        return {**facts, "row_groups": (passing.n_refuted, passing.n_groups)}
