"""Looks at a window that sheds: its accuracy over memory, and the race of the algorithms. Card C2

What the last look found lies in the regions with the window, so that a killed run goes on with it.
"""

from __future__ import annotations

import json
import math
from typing import Final, get_args

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
from backend.operators.network.shedding.options import ShedAlgorithm
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
#: Of ``pace``: batches since the last look, work that has to be done before the next, and the most
#: tuples that the window has had at a look.
_BATCHES, _DUE, _MOST = range(3)
#: Between two looks, unless there is a reason that does not wait.
LEAST_BATCHES: Final = 8
#: Of the work, that looks may be.
LOOKED_SHARE: Final = 0.01
#: Work is counted in tuples or runs that a drop of a look goes through: an arrival is so much, and
#: a batch besides. Measured; by the clock decisions would differ from run to run.
ARRIVAL_WORK, BATCH_WORK = 300, 300_000
_AUDITED: Final = 2


class ShedLooks:
    """curve, race: as of the last look."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._facts: Ints = regions.array("facts", "int64", 2)
        self._pace: Ints = regions.array("pace", "int64", 3)
        self._text = regions.array("text", "uint8", _FIRST)
        self.curve: AccuracyCurve | None = None
        self.race: tuple[Raced, ...] = ()
        if self._facts[_BYTES]:
            curve, raced = json.loads(self._text[: self._facts[_BYTES]].tobytes())
            self.curve, self.race = read_curve(curve), tuple(Raced(*row) for row in raced)

    def look(self, state: ShedState, table: KeyTable, n_arrived: int) -> None:
        """Make both anew at once where options are others, or it sheds now and did not, or is
        larger than it ever was; else once the window is another and that takes little of all
        work."""
        self._facts[_SINCE] += n_arrived
        self._pace[_BATCHES] += 1
        curve = self.curve
        if curve is None or self._cannot_wait(curve, state) or self._is_worth_it(curve, state):
            self._look(state, table)
        elif curve.is_new:
            self.curve = curve._replace(is_new=False)

    def _look(self, state: ShedState, table: KeyTable) -> None:
        sample, options = sample_of(state, table), state.options
        self.curve = curve_of(sample, options, state.lengths)
        is_raced = options.audit != "off" and sample.is_exact
        self.race = race(sample, options, state.lengths) if is_raced else ()
        self._facts[_SINCE] = self._pace[_BATCHES] = 0
        self._pace[_DUE] = looked_work(sample, bool(self.race)) / LOOKED_SHARE
        self._pace[_MOST] = max(self._pace[_MOST], math.ceil(_known_tuples(state)))
        self._write()

    def _cannot_wait(self, curve: AccuracyCurve, state: ShedState) -> bool:
        """Whether options are others, or it sheds now and did not, or fills: it is a quarter larger
        than at any look."""
        grows = 4 * _known_tuples(state) > 5 * self._pace[_MOST]
        return state.is_turned or bool(grows or (curve.is_whole and not state.is_whole))

    def _is_worth_it(self, curve: AccuracyCurve, state: ShedState) -> bool:
        """Whether most of the window, or its size, is another, and so much has been done since that
        a look takes little of it."""
        since, batches = self._facts[_SINCE], self._pace[_BATCHES]
        done = ARRIVAL_WORK * since + BATCH_WORK * batches
        grown = abs(_known_tuples(state) - curve.n_window)
        is_other = since >= curve.n_window or 4 * grown > curve.n_window
        return bool(is_other and batches >= LEAST_BATCHES and done >= self._pace[_DUE])

    def _write(self) -> None:
        text = json.dumps([self.curve, self.race], separators=(",", ":")).encode()
        self._text = self._regions.resized("text", len(text))
        self._text[: len(text)] = np.frombuffer(text, np.uint8)
        self._facts[_BYTES] = len(text)


def looked_work(sample: RunSample, is_raced: bool) -> int:
    """Of a look: each drop goes through all runs and a run's tuples. Drops are those of the curve,
    of all tuples and of those in memory, and where there is a race those of all algorithms."""
    n, kept, runs = len(sample.values), int(sample.in_memory.sum()), len(sample.looked.bases)
    drops = n + (kept if kept < n else 0) + is_raced * len(get_args(ShedAlgorithm)) * (n - kept)
    return drops * (runs + n // max(1, runs))


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
