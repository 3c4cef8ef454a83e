"""Runs of a ``SheddingWindow`` that are looked at: slow twin of ``shed_looks.sample_of``."""

from __future__ import annotations

import numpy as np

from backend.operators.network.shedding import curve
from backend.operators.network.shedding.curve import (
    AccuracyCurve,
    RunSample,
    SampledWindow,
    chosen_runs,
    curve_of,
    looked_at,
)
from backend.operators.network.shedding.runs import RunIndex, ShedRun
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import TemporalTuple


def known_tuples(window: SheddingWindow) -> float:
    if window.exact is not None and window.is_measurable:
        return float(len(window.exact))
    return float(len(window.memory) + window.ledger.sums.n)


def sample_of(window: SheddingWindow) -> RunSample:
    """All runs of the window if they are known, else those that are audited, else in memory."""
    is_exact = window.is_measurable and len(window.beside) > 0
    lists = chosen(window.beside if is_exact else window.memory)
    tuples = [each for members in lists for each in members]
    firsts = np.cumsum([0, *(len(members) for members in lists)])
    each_of = np.array([(each.number, each.start, each.end) for each in tuples], np.int64)
    # as the kernel's own are: of others it would be compiled anew
    numbers, starts, ends = np.ascontiguousarray(each_of.reshape(-1, 3).T)
    return RunSample(
        looked_at(numbers, starts, ends, firsts, window.options),
        [each.values for each in tuples],
        np.array([each.number in window.memory for each in tuples], np.bool_),
        is_exact,
        SampledWindow(
            known_tuples(window), len(window.memory), window.is_whole, window.expected_accuracy
        ),
    )


def chosen(index: RunIndex) -> list[list[TemporalTuple]]:
    """The first tuples of some runs."""
    runs: list[ShedRun] = sorted(index.runs(), key=lambda run: (run.start, run.members[0].number))
    firsts = np.array([run.members[0].number for run in runs], np.int64)
    lists: list[list[TemporalTuple]] = []
    for run, is_chosen in zip(runs, chosen_runs(len(index), firsts), strict=True):
        members = list(run.members)[: curve.MOST_OF_RUN]
        if is_chosen:
            if sum(map(len, lists)) + len(members) > 2 * curve.MOST_LOOKED:
                break
            lists.append(members)
    return lists


def curve_of_window(window: SheddingWindow) -> AccuracyCurve | None:
    """As it is now."""
    return curve_of(sample_of(window), window.options, window.answer.lengths)
