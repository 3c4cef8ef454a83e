"""Bits of a state whose requests ask for other attributes phase by phase, counted: thresholds, the
autopilot, and the best bits. [W13] §7

A state alone: what requests take is Eq. 1 as refined, with as many different values as there are; a
change moves all that is stored, and what that takes is in the cost of its batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.steered import SteeredLook
from backend.model.knobs import KnobSettings
from backend.operators.network.eddy.tuning import PartitionReport, StateReport
from backend.systems.amri.core import AMRI
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.migration import moving_cost
from backend.systems.amri.states import StateIndex
from backend.systems.amri.steering import IndexPilot
from bench.adapt_run import BY_THRESHOLDS, PILOTED, AdaptRun, phase_at
from storage.vocabulary.amri_configurations import configurations
from storage.vocabulary.amri_costs import (
    REFINED,
    Bits,
    Floats,
    IndexCosts,
    SearchLoad,
    capped_reach,
)

NAMES, BITS, STORED, DISTINCT = ("a", "b", "c"), 8, 2_000, 500.0
PARTS: Final = 4
#: Requests and arrivals of a batch.
REQUESTS, ARRIVALS = 1_000, 250
#: Of shares of patterns: the smaller, the fewer have most of the requests of a phase.
EVENNESS: Final = 0.3
PATTERNS: Final = range(1, 1 << len(NAMES))
KNOBS: Final[Mapping[str, Any]] = {"index_bits": BITS, "migration": "all"}
_MODEL: Final = IndexCosts(
    REFINED, reach=capped_reach([DISTINCT] * len(NAMES), BITS), segments=PARTS, visits=True
)
_LOAD: Final = SearchLoad(
    len(NAMES), dict.fromkeys(PATTERNS, 1.0), ARRIVALS, REQUESTS, STORED / ARRIVALS
)
#: All that a state may have, and what a request of each pattern takes then: [candidates, patterns].
ALL: Final = configurations((BITS,) * len(NAMES), BITS, at_most=True)
COSTS: Final = _MODEL.priced(_LOAD, ALL)
#: After a batch, in which a state had some bits. Whether it was evaluated.
Chooser = Callable[[StateIndex], bool]
Counts = NDArray[np.int64]


class AskedStream(NamedTuple):
    """asked: int64[batches, patterns], requests; phases: lengths, in requests."""

    asked: Counts
    phases: tuple[int, ...]

    def bests(self) -> list[float]:
        """Work under the best bits of each phase."""
        cuts = np.cumsum(self.phases)[:-1] // REQUESTS
        return [_best(part) for part in np.split(self.asked, cuts)]

    def best(self) -> float:
        """Work under the best bits for everything."""
        return _best(self.asked)

    def switched(self, batch: int, old: Bits, new: Bits) -> tuple[float, float]:
        """Work of a request under both, over the phase of a batch."""
        rows = phase_at(batch * REQUESTS, self.phases)
        asked = self.asked[rows.start // REQUESTS : rows.stop // REQUESTS]
        before, after = _work(asked)[[_place(old), _place(new)]] / asked.sum()
        return float(before), float(after)


def _best(asked: Counts) -> float:
    return float(_work(asked).min())


def _work(asked: Counts) -> Floats:
    """float64[candidates]: of some batches."""
    work: Floats = COSTS.requests @ asked.sum(axis=0) + len(asked) * COSTS.upkeep
    return work


def asked_stream(seed: int, n_phases: int, n_batches: int, regimes: int = 0) -> AskedStream:
    """So many batches of each phase. regimes: phases after which the first comes back."""
    mixes = np.random.default_rng(seed).dirichlet([EVENNESS] * len(PATTERNS), regimes or n_phases)
    rng, shares = np.random.default_rng(seed), mixes[np.arange(n_phases) % len(mixes)]
    asked = rng.multinomial(REQUESTS, shares.repeat(n_batches, axis=0))
    return AskedStream(asked, (n_batches * REQUESTS,) * n_phases)


def piloted(looks: list[SteeredLook], pilot: IndexPilot | None = None) -> Chooser:
    """By an autopilot."""
    pilot, knobs = pilot or IndexPilot(NAMES, "s"), _knobs(PILOTED)

    def batch(state: StateIndex) -> bool:
        seen = pilot.batch(state, state.in_force, knobs)
        looks.extend([] if seen is None else [seen.look])
        return seen is not None

    return batch


def by_thresholds(n_batches: int) -> Chooser:
    """Assessed all along, a selection every so many batches."""
    n = 0

    def batch(state: StateIndex) -> bool:
        nonlocal n
        n += 1
        is_due = n % n_batches == 0
        if is_due:
            state.select()
        if state.assessor is None:
            state.begin()
        return is_due

    return batch


def followed(stream: AskedStream, chooser: Chooser) -> AdaptRun:
    """A state over the stream, batch by batch."""
    state, costs, switched = StateIndex(NAMES), list[float](), list[tuple[float, float]]()
    state.turn(_knobs(BY_THRESHOLDS), None)
    n_looks, deciding_s = 0, 0.0
    for batch, counts in enumerate(stream.asked):
        before, started = state.bits, time.perf_counter()
        spent = batch_of(state, counts)
        n_looks += chooser(state)
        deciding_s += time.perf_counter() - started
        costs.append(spent + moving_cost(REFINED, STORED, before, state.bits))
        if state.bits != before:
            switched.append(stream.switched(batch, before, state.bits))
    return AdaptRun(
        n_batch=REQUESTS,
        costs=np.array(costs),
        switched=switched,
        n_looks=n_looks,
        deciding_s=deciding_s,
        switch_tuples=0,
    )


def batch_of(state: StateIndex, counts: Counts) -> float:
    """Tell a state of a batch; what it took."""
    place = _place(state.bits)
    compared, got_at = COSTS.compared[place], COSTS.got_at[place]
    rows = {
        pattern: (
            int(n), round(n * STORED * DISTINCT ** -pattern.bit_count()), round(n * compared[k]),
            round(n * got_at[k] / REFINED.bucket), 0,
        )
        for k, (pattern, n) in enumerate(zip(PATTERNS, counts.tolist(), strict=True))
        if n
    }  # fmt: skip
    parts = tuple(PartitionReport(k, STORED // PARTS, state.bits) for k in range(PARTS))
    state.observe(ARRIVALS, rows, StateReport(STORED, 0, parts, 0, 0, (STORED,), STORED, STORED))
    return float(COSTS.requests[place] @ counts + COSTS.upkeep[place])


def _knobs(policy: Mapping[str, str]) -> AmriKnobs:
    return AmriKnobs.of(KnobSettings.defaults(AMRI.knobs, {**KNOBS, **policy}))


def _place(bits: Bits) -> int:
    return int(np.flatnonzero((np.array(bits) == ALL).all(axis=1))[0])
