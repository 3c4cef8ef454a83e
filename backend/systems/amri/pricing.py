"""What an assessed state is priced by: its load, the cost model, and both as data of a record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from backend.systems.amri.entries import AssessmentReport
from backend.systems.amri.migration import Partition
from backend.systems.amri.portfolio import IndexBytes
from backend.systems.amri.selection import bounds
from storage.vocabulary.amri_costs import (
    Bits,
    Floats,
    IndexCosts,
    SearchLoad,
)
from storage.vocabulary.amri_counts import NO_COUNTS, StateCounts
from storage.vocabulary.amri_patterns import Pattern, pattern_text
from storage.vocabulary.amri_ranges import chain_lengths
from storage.vocabulary.amri_windows import distinct_values


class PatternCosts(NamedTuple):
    """Of a pattern, None: of all that nothing asked for. requests, compared: counted; share: F that
    a cost weighs; old, new: of a request, under the access methods in force and under others."""

    pattern: Pattern | None
    requests: int
    compared: int
    share: float
    old: float
    new: float


@dataclass(frozen=True, slots=True)
class PricedWindow:
    """A state between two selections. asked, load: what was asked of it, without and with the
    prior; model: that it is priced by; assessed: what the assessor reports; bits, partitions,
    n_stored: of the state; served: patterns that hash modules answer; names: of its attributes;
    sizes: of its access methods."""

    asked: SearchLoad
    load: SearchLoad
    model: IndexCosts
    assessed: AssessmentReport
    counts: StateCounts
    bits: Bits
    partitions: tuple[Partition, ...]
    n_stored: int
    served: tuple[Pattern, ...]
    names: tuple[str, ...]
    sizes: IndexBytes

    @property
    def pattern_names(self) -> list[str]:
        """Of the patterns of the load, ``<a,*>``."""
        return [pattern_text(pattern, self.names) for pattern in self.load.patterns]

    def slack(self, n_bits: int) -> float:
        """By how much a request may cost less or more than estimated of configurations with at most
        so many bits, for what assessment removed (Lemma 2, card A6)."""
        _, cost = bounds(self.load, self.model, n_bits, self.assessed)
        return cost / max(self.load.requests, 1e-300)

    def by_pattern(self, old: Floats, new: Floats) -> tuple[PatternCosts, ...]:
        """What the costs of a request follow from, what was asked for most first. old, new:
        float64[patterns], of a request."""
        asked, prior = list[PatternCosts](), np.zeros(3)
        rows = zip(self.load.patterns, self.load.shares.tolist(), old, new, strict=True)
        for pattern, share, *costs in rows:
            requests, _, compared, *_ = self.counts.by_pattern.get(pattern, NO_COUNTS)
            if requests:
                asked.append(PatternCosts(pattern, requests, compared, share, *map(float, costs)))
            else:
                prior += share, share * costs[0], share * costs[1]
        asked.sort(key=lambda of: -of.requests)
        share, *sums = prior.tolist()
        if share:
            asked.append(PatternCosts(None, 0, 0, share, *(cost / share for cost in sums)))
        return tuple(asked)

    @property
    def chains(self) -> dict[Pattern, float]:
        """By pattern how many tuples a hash module on it has for a request."""
        return chain_lengths(self.asked, self.counts, self.bits, self.served)

    @property
    def basis(self) -> dict[str, Any]:
        """What costs are worked out from, as JSON-typed data."""
        load, model = self.load, self.model
        distinct = [math.inf] * load.n
        if model.reach is not None:
            distinct = distinct_values(self.asked, self.counts, self.bits, self.served)
        return {
            "arrivals": load.arrivals,
            "requests": load.requests,
            "stored": load.arrivals * load.window,
            "shares": [[p, f] for p, f in load.frequencies.items()],
            "corrections": [[p, factor] for p, factor in model.corrections.items()],
            "segments": model.segments,
            "visits": model.visits,
            "prices": [model.costs.bucket, model.costs.code],
            "move": model.costs.move,
            "distinct": [None if math.isinf(n) else n for n in distinct],
            "ordered": load.ordered,
            "partitions": [[slice.n_tuples, list(slice.bits)] for slice in self.partitions],
        }
