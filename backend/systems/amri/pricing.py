"""What an assessed state is priced by: its load, the cost model, and both as data of a record."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from backend.operators.network.eddy.words import CODES_READ
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.operators.network.kinds.eddy import MOST_BITS
from backend.systems.amri.costs import (
    REFINED,
    Bits,
    IndexCosts,
    SearchLoad,
    capped_reach,
    corrections,
)
from backend.systems.amri.counts import NO_COUNTS, StateCounts
from backend.systems.amri.entries import AssessmentReport
from backend.systems.amri.migration import Partition
from backend.systems.amri.patterns import Pattern, pattern_of, pattern_text
from backend.systems.amri.portfolio import IndexBytes
from backend.systems.amri.selection import bounds

#: Requests of a pattern from which what they compared corrects the model.
LEAST_MEASURED: Final = 200


def window_load(
    n: int, frequencies: Mapping[Pattern, float], counts: StateCounts, n_stored: float
) -> SearchLoad:
    """What was asked of a state of n attributes in a window; a time unit is the window. n_stored:
    tuples that a request finds there."""
    arrivals = max(1, counts.arrivals)
    return SearchLoad(n, frequencies, arrivals, counts.requests, n_stored / arrivals)


def window_model(
    load: SearchLoad,
    is_refined: bool,
    bits: Bits,
    n_segments: float,
    counts: StateCounts,
    by_modules: Collection[Pattern] = (),
    least: int = LEAST_MEASURED,
) -> IndexCosts:
    """Eq. 1, or refined by distinct values, bucket visits and what requests were measured to
    compare. bits: that they were measured with; by_modules: patterns that hash modules served;
    least: requests of a pattern from which they say something."""
    if not is_refined:
        return IndexCosts()
    reach = capped_reach(distinct_values(load, counts), MOST_BITS)
    model = IndexCosts(REFINED, reach=reach, segments=max(1, n_segments), visits=True)
    measured = {
        pattern: (row[PROBES], row[SCANNED] - row[CODES_READ])
        for pattern, row in counts.by_pattern.items()
        if pattern not in by_modules
    }
    factors = corrections(load, model, bits, measured, least)
    return replace(model, corrections=factors)


def distinct_values(load: SearchLoad, counts: StateCounts) -> list[float]:
    """By attribute how many values requests told apart, as those that asked for it alone saw:
    stored tuples for each one that matched. Infinite where that is not known (card A14.2)."""
    values = []
    for attribute in range(load.n):
        row = counts.by_pattern.get(pattern_of([attribute], load.n), NO_COUNTS)
        is_known = row[PROBES] >= LEAST_MEASURED and row[MATCHES]
        stored = load.arrivals * load.window
        values.append(stored * row[PROBES] / row[MATCHES] if is_known else math.inf)
    return values


@dataclass(frozen=True, slots=True)
class PricedWindow:
    """A state between two selections. asked, load: what was asked of it, without and with the
    prior; model: that it is priced by; assessed: what the assessor reports; bits, partitions,
    n_stored: of the state; names: of its attributes; sizes: of its access methods."""

    asked: SearchLoad
    load: SearchLoad
    model: IndexCosts
    assessed: AssessmentReport
    counts: StateCounts
    bits: Bits
    partitions: tuple[Partition, ...]
    n_stored: int
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

    @property
    def basis(self) -> dict[str, Any]:
        """What costs are worked out from, as JSON-typed data."""
        load, model = self.load, self.model
        distinct = [math.inf] * load.n
        if model.reach is not None:
            distinct = distinct_values(self.asked, self.counts)
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
            "partitions": [[slice.n_tuples, list(slice.bits)] for slice in self.partitions],
        }
