"""Results of a join whose windows keep some groups: how many there would be of all. Card B8

A result is there if the group of its key was kept as long as its oldest tuple has been there. So
the results of groups that no window has dropped while it held any tuple are a sample by groups, in
which each is as likely: their number is scaled, and has an interval by the groups' numbers.
Where windows keep groups of numbers, a result is there if all its tuples are: as likely as the
product of their shares, without an interval, as results have tuples in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from backend.operators.network.core.blocks import Block
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.key_groups import N_GROUPS, KeyGroups
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.retention import RetainedOp, retained_key
from backend.operators.network.stores.retaining import Retained, RetainTuning, share_of


class SampledResults:
    """Counts results that come in a batch, by key group. column: of the join, with the key.
    n_missing: groups that are no part of the sample. after: results of ticks after this one are
    counted; -1: all. At a tick at which groups are dropped, results come again that were there.
    share: of all results, that are there by the numbers of tuples; None: by groups of keys."""

    def __init__(
        self,
        column: int,
        groups: KeyGroups,
        n_missing: int,
        after: int,
        share: float | None = None,
    ) -> None:
        self._column, self._groups = column, groups
        self._n_missing, self._after, self._share = n_missing, after, share
        self._counts = np.zeros(N_GROUPS, np.int64)

    @classmethod
    def of(cls, planned: PlannedOperator, surroundings: Surroundings) -> Self | None:
        """None: no window of the join may drop tuples, or one lacks others than groups say."""
        if not any(isinstance(tuning, RetainTuning) for tuning in surroundings.tunings.values()):
            return None
        plan, n_missing, after, share = surroundings.plan, 0, -1, 1.0
        key = retained_key(plan, planned.id)
        windows = [] if key is None else [plan.operator(own.window) for own in key.windows]
        retained = [window for window in windows if isinstance(window.work, RetainedOp)]
        if key is None or not retained:
            return None
        for window in retained:
            tuning = surroundings.tuning(window, RetainTuning) or RetainTuning(0)
            known = Retained.of(surroundings, window.id)
            most = max(known.most, tuning.n_dropped)
            n_missing, share = max(n_missing, most), share * share_of(tuning.n_dropped)
            if not known.is_sample(tuning):
                return None
            if tuning.n_dropped > known.now:
                after = surroundings.clock.begin
        is_text = planned.fields[key.column].type == "string"
        groups = KeyGroups(surroundings.strings if is_text else None, key.windows[0].as_float)
        return cls(key.column, groups, n_missing, after, share if tuning.by_number else None)

    def count(self, results: Block) -> None:
        """Results that come or go."""
        came = np.flatnonzero((results.sign > 0) & (results.tau > self._after))
        groups = self._groups.of(results.columns[self._column].take(came))
        self._counts += np.bincount(groups, minlength=N_GROUPS)

    def counters(self) -> Mapping[str, float]:
        """Results in the sample, what all are estimated at, and the variance of that: they add up
        over shards. Groups of keys are drawn without putting back."""
        if self._share is not None:
            total = int(self._counts.sum())
            return {"kept_results": total, "estimated_results": total / self._share}
        counts = self._counts[self._n_missing :]
        n, kept = len(counts), int(counts.sum())
        spread = float(counts.var(ddof=1)) if n > 1 else 0.0
        return {
            "kept_results": kept,
            "estimated_results": kept * N_GROUPS / n,
            "results_variance": N_GROUPS * (N_GROUPS - n) * spread / n,
        }
