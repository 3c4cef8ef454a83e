"""Looks at a window that sheds: its accuracy over memory, and the race of the algorithms. Card C2

What the last look found lies in the regions with the window, so that a killed run goes on with it.
"""

from __future__ import annotations

import json
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Bools, Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.relational.keys import KeyTable
from backend.operators.network.shedding import curve as curves
from backend.operators.network.shedding.curve import (
    AccuracyCurve,
    RunSample,
    SampledWindow,
    chosen_runs,
    curve_of,
    looked_at,
    read_curve,
)
from backend.operators.network.shedding.race import Raced, race
from backend.operators.network.shedding.words import (
    BESIDE,
    END,
    FLAGS,
    GROUP,
    GROUP_AUDITED,
    IN_BESIDE,
    IN_MEMORY,
    IS_BUILT,
    MEMORY,
    N_MEMORY,
    NUMBER,
    START,
    SUM_DROPS,
    USED,
)
from backend.operators.network.temporal.interval_tree import head_flag
from backend.operators.network.temporal.shed_measure import members_of
from backend.operators.network.temporal.shed_state import ShedState

_FIRST: Final = 4096
#: Of ``facts``: bytes of the text, arrivals since the last look.
_BYTES, _SINCE = range(2)
#: Arrivals of small windows between two looks.
_MOST_BETWEEN: Final = 6000
_AUDITED: Final = 2


class ShedLooks:
    """curve, race: as of the last look."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._facts: Ints = regions.array("facts", "int64", 2)
        self._text = regions.array("text", "uint8", _FIRST)
        self.curve: AccuracyCurve | None = None
        self.race: tuple[Raced, ...] = ()
        if self._facts[_BYTES]:
            curve, raced = json.loads(self._text[: self._facts[_BYTES]].tobytes())
            self.curve, self.race = read_curve(curve), tuple(Raced(*one) for one in raced)

    def look(self, state: ShedState, table: KeyTable, n_arrived: int) -> None:
        """Make both anew once much of the window is another, or options are, or it has another
        size, or sheds now and did not."""
        self._facts[_SINCE] += n_arrived
        curve = self.curve
        if curve is None or state.is_turned or self._is_other(curve, state):
            sample, options = sample_of(state, table), state.options
            self.curve = curve_of(sample, options, state.lengths)
            is_raced = options.audit != "off" and sample.is_exact
            self.race = race(sample, options, state.lengths) if is_raced else ()
            self._facts[_SINCE] = 0
            self._write()
        elif curve.is_new:
            self.curve = curve._replace(is_new=False)

    def _is_other(self, curve: AccuracyCurve, state: ShedState) -> bool:
        """Whether the window is another than that of the curve."""
        grown = abs(_known_tuples(state) - curve.n_window)
        begins = curve.is_whole and not state.is_whole
        is_old = self._facts[_SINCE] >= _between_looks(curve.n_window)
        return bool(begins or is_old or 4 * grown > curve.n_window)

    def _write(self) -> None:
        text = json.dumps([self.curve, self.race], separators=(",", ":")).encode()
        self._text = self._regions.resized("text", len(text))
        self._text[: len(text)] = np.frombuffer(text, np.uint8)
        self._facts[_BYTES] = len(text)


def _between_looks(n_window: float) -> float:
    """Arrivals after which a window of so many tuples is looked at again: a look takes longer than
    an arrival, of a small window by more times its size."""
    return max(n_window, min(2 * n_window, _MOST_BETWEEN))


def _known_tuples(state: ShedState) -> float:
    """That the window would hold without a limit, as far as is known."""
    known, facts = state.n_window, state.facts
    return float(facts[N_MEMORY] + facts[SUM_DROPS] if known is None else known)


def sample_of(state: ShedState, table: KeyTable) -> RunSample:
    """Of its runs without a limit, as far as they are known: all, else those of the groups that are
    audited, else those in memory, which are taken for them."""
    at, is_in, is_exact = _known_runs(state)
    tuples = state.shed.tuples
    heads = np.flatnonzero(is_in & (tuples[: len(is_in), FLAGS] & head_flag(at) > 0))
    heads = heads[chosen_runs(int(is_in.sum()), tuples[heads, NUMBER])]
    heads = heads[np.lexsort((tuples[heads, NUMBER], tuples[heads, START]))]
    rows, firsts = np.empty(2 * curves.MOST_LOOKED, np.int64), np.zeros(len(heads) + 1, np.int64)
    n_runs = int(members_of(heads, at, curves.MOST_OF_RUN, state.shed, rows, firsts))
    firsts = firsts[: n_runs + 1]
    chosen = tuples[rows[: firsts[-1]]]
    numbers, starts, ends = (np.ascontiguousarray(chosen[:, at]) for at in (NUMBER, START, END))
    words = table.words.reshape(-1, table.width)[chosen[:, GROUP]]
    return RunSample(
        looked_at(numbers, starts, ends, firsts, state.options),
        list(map(tuple, words.tolist())),
        chosen[:, FLAGS] & IN_MEMORY > 0,
        is_exact,
        SampledWindow(
            _known_tuples(state),
            int(state.facts[N_MEMORY]),
            state.is_whole,
            state.expected_accuracy,
        ),
    )


def _known_runs(state: ShedState) -> tuple[int, Bools, bool]:
    """The tree they are in, which rows are, and whether they are as long as without a limit."""
    facts, options = state.facts, state.options
    tuples = state.shed.tuples[: facts[USED]]
    in_memory = tuples[:, FLAGS] & IN_MEMORY > 0
    at, is_in = MEMORY, in_memory
    if facts[IS_BUILT]:
        at, is_in = BESIDE, tuples[:, FLAGS] & IN_BESIDE > 0
    elif not options.needs_exact:
        is_in = in_memory & (state.groups_array[tuples[:, GROUP], GROUP_AUDITED] == _AUDITED)
    if state.is_measurable and is_in.any():
        return at, is_in, True
    return MEMORY, in_memory, False
