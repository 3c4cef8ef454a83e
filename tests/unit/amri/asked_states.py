"""A state whose requests ask for other attributes phase by phase, and who chooses its bits.

What requests take is Eq. 1 as refined, with as many different values as there are; a change moves
all that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.steered import SteeredLook
from backend.operators.network.eddy.tuning import PartitionReport, StateReport
from backend.systems.amri.migration import moving_cost
from backend.systems.amri.states import StateIndex
from backend.systems.amri.steering import IndexPilot
from storage.vocabulary.amri_configurations import configurations
from storage.vocabulary.amri_costs import (
    REFINED,
    Bits,
    Floats,
    IndexCosts,
    SearchLoad,
    capped_reach,
)
from tests.unit.amri.running_eddies import knobs_of

N, BITS, STORED, DISTINCT = 3, 8, 2_000, 500.0
PARTS: Final = 4
#: Requests and arrivals of a batch.
REQUESTS, ARRIVALS = 1_000, 250
PATTERNS: Final = range(1, 1 << N)
_MODEL: Final = IndexCosts(
    REFINED, reach=capped_reach([DISTINCT] * N, BITS), segments=PARTS, visits=True
)
_LOAD: Final = SearchLoad(N, dict.fromkeys(PATTERNS, 1.0), ARRIVALS, REQUESTS, STORED / ARRIVALS)
#: All that a state may have, and what a request of each pattern takes then: [candidates, patterns].
ALL: Final = configurations((BITS,) * N, BITS, at_most=True)
COSTS: Final = _MODEL.priced(_LOAD, ALL)


class AskedPhase(NamedTuple):
    """Work of a phase as run and under its best bits; changes of bits."""

    spent: float
    best: float
    n_changes: int


#: After a batch, in which a state had some bits.
Chooser = Callable[[StateIndex], None]


def piloted(looks: list[SteeredLook], pilot: IndexPilot | None = None) -> Chooser:
    """By an autopilot."""
    pilot, knobs = pilot or IndexPilot("abc", "s"), knobs_of(**BY_PILOT)

    def batch(state: StateIndex) -> None:
        seen = pilot.batch(state, state.in_force, knobs)
        looks.extend([] if seen is None else [seen.look])

    return batch


def by_thresholds(n_batches: int) -> Chooser:
    """Assessed all along, a selection every so many batches."""
    n = 0

    def batch(state: StateIndex) -> None:
        nonlocal n
        n += 1
        if n % n_batches == 0:
            state.select()
        if state.assessor is None:
            state.begin()

    return batch


BY_PILOT: Final[Mapping[str, Any]] = {"policy": "autopilot", "index_bits": BITS, "migration": "all"}


def mixes(n: int, seed: int) -> Floats:
    """float64[n, patterns]: few patterns have most of the requests of a phase."""
    return np.random.default_rng(seed).dirichlet([0.3] * len(PATTERNS), n)


def run(phases: Sequence[Floats], n_batches: int, chooser: Chooser, seed: int) -> list[AskedPhase]:
    """So many batches of each phase."""
    rng, state = np.random.default_rng(seed), StateIndex(["a", "b", "c"])
    state.turn(knobs_of(index_bits=BITS, migration="all"), None)
    done = []
    for shares in phases:
        asked, spent, n_changes = np.zeros(len(PATTERNS)), 0.0, 0
        for _ in range(n_batches):
            counts = rng.multinomial(REQUESTS, shares)
            before = state.bits
            spent += batch_of(state, counts)
            chooser(state)
            spent += moving_cost(REFINED, STORED, before, state.bits)
            n_changes, asked = n_changes + (state.bits != before), asked + counts
        total = COSTS.requests @ asked + n_batches * COSTS.upkeep
        done.append(AskedPhase(spent, float(total.min()), n_changes))
    return done


def batch_of(state: StateIndex, counts: NDArray[np.int64]) -> float:
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


def _place(bits: Bits) -> int:
    return int(np.flatnonzero((np.array(bits) == ALL).all(axis=1))[0])
