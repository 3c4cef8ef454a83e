"""The window of an operator that sheds, in regions: as text, and as objects while a process lives.

A process that goes on with the regions as it left them finds its objects; any other makes them of
the text, and they drop the same tuples from there on.
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.shedding.curve import (
    AccuracyCurve,
    curve_of,
    known_tuples,
    read_curve,
    sample_of,
)
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.race import Raced, race
from backend.operators.network.shedding.runs import ShedRun, WatchedRuns
from backend.operators.network.shedding.saving import packed, unpacked
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import AnswerShape, ValidCondition, Values
from backend.operators.network.temporal.shed_tuning import ShedTuning

#: Intervals of a value group that an answer shows.
Shown: TypeAlias = tuple[tuple[int, int], ...]
#: Of ``facts``: bytes of the text, who wrote it, how often, arrivals that were numbered here, the
#: last tick at which something happened.
_BYTES, _OWNER, _TURN, _NUMBERED, _EVENT = range(5)
_FIRST: Final = 1024
#: Windows whose objects a process keeps.
MOST_KEPT = 64
#: Arrivals of small windows between two looks at their accuracy over memory.
_MOST_BETWEEN: Final = 6000


@dataclass
class ShedObjects:
    """A window, and the intervals of each value group that its answer shows. curve, race: as of
    when they were made last, before so many arrivals."""

    window: SheddingWindow
    runs: WatchedRuns
    lengths: ValidCondition
    shown: dict[Values, Shown] = field(default_factory=dict)
    curve: AccuracyCurve | None = None
    n_since: int = 0
    race: tuple[Raced, ...] = ()

    def look(self, n_arrived: int, is_turned: bool) -> None:
        """Make both anew once much of the window is another, or options are, or it has another
        size, or sheds now and did not."""
        self.n_since += n_arrived
        curve = self.curve
        if curve is None or is_turned or self._is_other(curve):
            sample, options = sample_of(self.window), self.window.options
            self.curve, self.n_since = curve_of(self.window, sample), 0
            is_raced = options.audit != "off" and sample.is_exact
            self.race = race(sample, options, self.lengths) if is_raced else ()
        elif curve.is_new:
            self.curve = curve._replace(is_new=False)

    def _is_other(self, curve: AccuracyCurve) -> bool:
        """Whether the window is another than that of the curve."""
        grown = abs(known_tuples(self.window) - curve.n_window)
        begins = curve.is_whole and not self.window.is_whole
        return (
            begins or self.n_since >= _between_looks(curve.n_window) or 4 * grown > curve.n_window
        )


def _between_looks(n_window: float) -> float:
    """Arrivals after which a window of so many tuples is looked at again: a look takes longer than
    an arrival, of a small window by more times its size."""
    return max(n_window, min(2 * n_window, _MOST_BETWEEN))


#: By owner: the turn they were written in, and the objects.
_kept: OrderedDict[int, tuple[int, ShedObjects]] = OrderedDict()


class ShedState:
    """Of one operator. Raises ShedStateRefused: the text is damaged."""

    def __init__(self, regions: Regions, window: WindowOp, tuning: ShedTuning) -> None:
        self._regions, self._has_changed = regions, False
        self._extent = window_extent(window)
        self._facts: Ints = regions.array("facts", "int64", 5)
        self._text = regions.array("text", "uint8", _FIRST)
        self.objects = self._attached(tuning.lengths, tuning.options)

    def number(self, n_tuples: int) -> int:
        """The number of the first of so many arrivals of a stream that does not number them."""
        first = int(self._facts[_NUMBERED])
        self._facts[_NUMBERED] += n_tuples
        return first

    @property
    def last_event(self) -> int:
        """The last tick at which something came, left, was turned or told."""
        return int(self._facts[_EVENT])

    def happened(self, tick: int) -> None:
        """Something did, at a tick."""
        self._facts[_EVENT] = max(self._facts[_EVENT], tick)
        self._has_changed = True

    def save(self) -> None:
        """Have the regions hold all that is to be gone on with, if it is not what they hold."""
        if self._has_changed:
            self._write()
        if not self._facts[_OWNER]:  # nothing has happened yet
            return
        _kept[int(self._facts[_OWNER])] = int(self._facts[_TURN]), self.objects
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)

    def _write(self) -> None:
        objects, facts = self.objects, self._facts
        shown = [[values, objects.shown.get(values, ())] for values in objects.runs.touched]
        told = packed(objects.window.state()), shown, objects.curve, objects.n_since, objects.race
        text = json.dumps(told, separators=(",", ":")).encode()
        if len(text) > len(self._text):
            self._text = self._regions.resized("text", max(len(text), 2 * len(self._text)))
        self._text[: len(text)] = np.frombuffer(text, np.uint8)
        facts[_BYTES] = len(text)
        facts[_TURN] += 1
        self._has_changed = False
        if not facts[_OWNER]:
            facts[_OWNER] = uuid.uuid4().int >> 66

    def _attached(self, lengths: ValidCondition, options: ShedOptions) -> ShedObjects:
        turn, objects = _kept.pop(int(self._facts[_OWNER]), (0, None))
        if objects is None or turn != self._facts[_TURN] or objects.lengths != lengths:
            return self._made(lengths, options)
        return objects

    def _made(self, lengths: ValidCondition, options: ShedOptions) -> ShedObjects:
        answer = AnswerShape(None, lengths)
        runs = WatchedRuns(answer)
        if not self._facts[_BYTES]:
            window = SheddingWindow(options, self._extent, answer, runs)
            return ShedObjects(window, runs, lengths)
        text = self._text[: self._facts[_BYTES]].tobytes().decode()
        state, touched, curve, n_since, raced = json.loads(text)
        window = SheddingWindow.restored(unpacked(state), self._extent, answer, runs)
        shown = {run.values: spans_of(runs.of(run.values)) for run in runs.runs()}
        before = {tuple(values): tuple(map(tuple, spans)) for values, spans in touched}
        runs.touched = set(before)
        known = read_curve(curve), n_since, tuple(Raced(*one) for one in raced)
        return ShedObjects(window, runs, lengths, shown | before, *known)


def window_extent(window: WindowOp) -> WindowExtent:
    """Of a window of time or of rows. Raises ValueError: it is another."""
    if window.kind not in ("range", "rows"):
        raise ValueError(f"a {window.kind} window does not shed; allowed: range, rows")
    return WindowExtent(window.kind, window.size, window.slide)


def spans_of(runs: Iterable[ShedRun]) -> Shown:
    """Their intervals."""
    return tuple((run.start, run.end) for run in runs)
