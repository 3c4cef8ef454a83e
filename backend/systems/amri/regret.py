"""What the configurations of a state came to, against the best in hindsight (card A2b, A14.11).

Sums go on window by window, so that no history is kept: the best sequence is a dynamic program
over the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from backend.operators.network.eddy.tuning import StateReport
from backend.operators.network.joins.join_kernel import PROBES
from backend.systems.amri.costs import Bits, Candidates, Floats, WorkCosts
from backend.systems.amri.counts import StateCounts
from backend.systems.amri.pricing import window_load, window_model
from backend.systems.amri.selection import cheapest


class PassedWindow(NamedTuple):
    """A stretch in which a state was searched by the same bits. counts: of all its requests;
    n_moved: tuples bucketed anew in it; report: the state at its end."""

    bits: Bits
    counts: StateCounts
    n_moved: int
    report: StateReport

    def costs(self, candidates: Candidates) -> tuple[Floats, float]:
        """float64[candidates], what the requests would have cost under each, and what they cost,
        migrations among it. Of the bits in force both are what was measured: of the others the
        model says how many tuples more or less each pattern compares, and how much more or less
        getting at these takes."""
        counts, n = self.counts, len(self.bits)
        shares = {p: row[PROBES] / counts.requests for p, row in counts.by_pattern.items()}
        load = window_load(n, shares, counts, self.report.n_searched)
        n_segments = len(self.report.partitions) / max(1, len(self.report.by_shard))
        model = window_model(load, True, self.bits, n_segments, counts, least=1)
        parts = model.priced(load, candidates).parts()
        own = model.one(load, self.bits).parts()
        load.forget()
        got_at = counts.cost(replace(model.costs, compare=0.0))
        buckets = parts.buckets * (got_at / own.buckets[0] if own.buckets[0] else 0.0)
        of_each = parts.hash_insert + parts.hash_request + parts.search + buckets
        moved = self.n_moved * (2 * np.count_nonzero(self.bits) + 2)
        hashed = float(own.hash_insert[0] + own.hash_request[0])
        return of_each, hashed + counts.cost(model.costs) + moved


class RegretTotals(NamedTuple):
    """Since the beginning, in the unit of costs. spent: with the configurations in force, their
    changes among it; fixed: with the best single one, ``fixed_bits``; sequence: with the best
    sequence of them, its changes among it. n_windows: accounted for."""

    spent: float
    fixed: float
    fixed_bits: Bits
    sequence: float
    n_windows: int


class IndexRegret:
    """Of one state. candidates: int64[candidates, attributes]."""

    def __init__(self, candidates: Candidates, costs: WorkCosts) -> None:
        self.candidates, self.costs = candidates, costs
        self._spent, self._n_windows = 0.0, 0
        self._fixed = np.zeros(len(candidates))
        self._ending = np.zeros(len(candidates))

    def account(self, costs: Floats, spent: float, n_stored: int) -> None:
        """A window has passed. costs: float64[candidates], what it costs under each; spent: what
        it cost, changes since the last one among it; n_stored: tuples that a change before it would
        have moved. The first configuration is free."""
        if self._n_windows:
            self._ending = np.minimum(self._ending, self._changed(n_stored))
        self._ending = self._ending + costs
        self._fixed += costs
        self._spent += spent
        self._n_windows += 1

    @property
    def totals(self) -> RegretTotals:
        """Until now."""
        best = cheapest(self._fixed, self.candidates)
        bits = tuple(self.candidates[best].tolist())
        least = float(self._ending.min())
        return RegretTotals(self._spent, float(self._fixed[best]), bits, least, self._n_windows)

    def _changed(self, n_stored: int) -> Floats:
        """The least cost of ending in each candidate after a change from any: what moving n tuples
        costs is a sum of what the old one and the new one have."""
        if self.costs.move is not None:
            return np.full(len(self._ending), self._ending.min() + n_stored * self.costs.move)
        hashing = np.count_nonzero(self.candidates, axis=1) * self.costs.hash
        leaving = float((self._ending + n_stored * hashing).min())
        each = hashing + self.costs.insert + self.costs.delete
        least: Floats = leaving + n_stored * each
        return least

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "spent": self._spent,
            "n_windows": self._n_windows,
            "fixed": self._fixed.tolist(),
            "ending": self._ending.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken, of as many candidates; else begin anew."""
        if len(state["fixed"]) != len(self.candidates):
            return
        self._spent, self._n_windows = float(state["spent"]), int(state["n_windows"])
        self._fixed, self._ending = np.array(state["fixed"]), np.array(state["ending"])
