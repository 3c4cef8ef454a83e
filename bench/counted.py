"""Execution by counting: what a batch comes to when it is known which filter drops which tuple.

For experiments and races: the counts and profile tuples the executor would report, without
evaluating anything. Operation counts are exact; times are counts times prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.model.filters import UNKNOWN, Outcomes, Probing, WholeTuples, known_outcomes


@dataclass(frozen=True, slots=True)
class Counted:
    """evaluated / dropped: tuples by filter, in regular execution. outcomes, n_passed: the
    profile, columns in plan order, and its whole tuples where filters were spared. probed:
    evaluations by filter that only the profile made."""

    n_matched: int
    evaluated: Mapping[str, int]
    dropped: Mapping[str, int]
    outcomes: Outcomes
    n_passed: int
    probed: Mapping[str, int]
    whole: WholeTuples | None = None


def run_counted(
    drops: NDArray[np.bool_],
    names: Sequence[str],
    order: Sequence[str],
    probing: Probing,
    profiled: NDArray[np.bool_],
    whole: NDArray[np.bool_] | None = None,
) -> Counted:
    """One batch. drops: bool[m, n], columns as ``names``; profiled: bool[m], the sampled tuples;
    whole: bool[m], those of them that no filter is spared, all where it is None."""
    place = {name: i for i, name in enumerate(names)}
    ordered = drops[:, [place[name] for name in order]]
    is_dropped = ordered.any(axis=1)
    first = np.full(len(drops), len(order))
    if order:
        first = np.where(is_dropped, np.argmax(ordered, axis=1), first)
    stops = np.bincount(first, minlength=len(order) + 1)
    reached = len(drops) - np.concatenate(([0], np.cumsum(stops)[:-1]))
    sampled = profiled & is_dropped
    chosen = None if probing.filter is None else list(order).index(probing.filter)
    if whole is None and probing.spared:
        raise ValueError("where filters are spared it is to be said which tuples are whole")
    is_whole = profiled if whole is None else whole
    spared = probing.spared_places(order)[first[sampled]] & ~is_whole[sampled, None]
    outcomes = known_outcomes(ordered[sampled], probing.rule, chosen, spared)
    passed = ~is_dropped
    after = np.arange(len(order))[None, :] > first[sampled][:, None]
    extra = ((outcomes != UNKNOWN) & after).sum(axis=0)
    return Counted(
        n_matched=int(passed.sum()),
        evaluated={name: int(reached[i]) for i, name in enumerate(order)},
        dropped={name: int(stops[i]) for i, name in enumerate(order)},
        outcomes=outcomes,
        n_passed=int((profiled & passed).sum()),
        probed={name: int(extra[i]) for i, name in enumerate(order)},
        whole=WholeTuples(is_whole[sampled], int((is_whole & passed).sum()))
        if probing.spared
        else None,
    )


def order_cost(drops: NDArray[np.bool_], order: Sequence[int], costs: Sequence[float]) -> float:
    """Of a tuple, on average. drops: bool[m, n], by filter, and costs; order: their places."""
    reached = 1.0 - np.logical_or.accumulate(drops[:, order], axis=1).mean(axis=0)
    shares = np.concatenate(([1.0], reached[:-1]))
    return float((shares * np.array([costs[place] for place in order])).sum())
