"""cals-m in arrays: every drop that there may be is looked at. Card B3"""

from __future__ import annotations

from collections import Counter

import numpy as np

from backend.operators.network.shedding.one_step import DropStep, best_step
from backend.operators.network.shedding.words import (
    BESIDE,
    N_MEMORY,
    NUMBER,
    RUN_END,
    RUNS_BESIDE,
    START,
)
from backend.operators.network.temporal.shed_measure import losses, runs_in_memory
from backend.operators.network.temporal.shed_state import ShedState


def one_step(state: ShedState) -> int | None:
    """The row of the tuple after whose drop the accuracy is highest; None: none may be dropped."""
    shed, n = state.shed, int(state.facts[N_MEMORY])
    arrays = np.empty((n, 4), np.int64)
    rows = arrays[: losses(shed, arrays)].tolist()
    runs = np.empty((n, 3), np.int64)
    kept: Counter[int] = Counter()
    pieces: Counter[int] = Counter()
    for _, exact, length in runs[: runs_in_memory(shed, runs)].tolist():
        kept[exact] += length
        pieces[exact] += 1
    numbers = shed.tuples[:, NUMBER]
    tops: dict[tuple[int, int], tuple[int, int, int]] = {}
    for row, left, length, exact in rows:
        best = length, int(numbers[row]), row
        tops[exact, left] = min(best, tops.get((exact, left), best))
    bases = {
        exact: int(shed.tuples[exact, BESIDE + RUN_END] - shed.tuples[exact, START])
        for exact in pieces
    }
    steps = [
        DropStep(number, bases[exact], kept[exact], length, k, k + left - 1)
        for (exact, left), (length, number, _) in tops.items()
        for k in (pieces[exact],)
    ]
    of_runs = [(bases[exact], kept[exact], k) for exact, k in pieces.items()]
    metric = state.options.accuracy_metric
    chosen = best_step(steps, of_runs, int(state.facts[RUNS_BESIDE]), metric)
    rows_of = {number: row for _, number, row in tops.values()}
    return None if chosen is None else rows_of[chosen]
