"""Runs of eddies: the operator itself with what decides on it, and the work it counts. [W13] §9

No network and no host. Work is in units: hashing an attribute, comparing a tuple, inserting,
deleting; a link of a hash index, the visit of a bucket and a code that is read and is another one
have a price of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.core import Evaluations
from backend.model.knobs import KnobSettings
from backend.operators.network.core.blocks import Block
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.eddy.operator import EddyJoin
from backend.operators.network.eddy.tuning import EddyProfile, EddyTuning, StateTuning
from backend.operators.network.eddy.words import BUCKETS, CODES_READ
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.operators.network.kinds.eddy import EddyOp
from backend.systems.amri.core import AMRI
from backend.systems.amri.eddy import AdaptedEddy
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.migration import moving_cost
from backend.systems.amri.view import EddyView
from bench.experiments.amri_data import CLIQUE, N_STREAMS, EddyCase, Routes
from bench.experiments.join_running import (
    JOIN,
    Operations,
    SignedElements,
    between,
    blocks_of,
    elements,
    windowed,
)
from bench.joins_lanes import JoinStretch, answer
from bench.stream_data import DifferentResults
from storage.vocabulary.amri_costs import COUNTED, Bits
from storage.vocabulary.amri_patterns import Pattern, module_for, pattern_of
from storage.vocabulary.planlog import POLICY, THRESHOLDS

#: Of one run with everything done in each batch: no migration waits for the next one.
_AT_ONCE: Final = 10_000_000
Floats = NDArray[np.float64]
#: The routes that all tuples take from a tuple of each stream on; (): the router chooses.
RoutesAt = Callable[[int], Routes]


class EddyDesign(NamedTuple):
    """knobs: by name and value; settles: nothing changes any more once training is over; trains:
    what training says is followed."""

    name: str
    knobs: tuple[tuple[str, object], ...] = ()
    settles: bool = False
    trains: bool = True

    def with_knobs(self, **values: object) -> EddyDesign:
        """Also with these."""
        return self._replace(knobs=tuple({**dict(self.knobs), **values}.items()))

    def begin(self, window: int) -> AmriKnobs:
        """While it is trained: all states are assessed, and what is cheapest is taken."""
        training = {
            POLICY: THRESHOLDS,
            "tuning_schedule": "continuous",
            "period_requests": max(100, 4 * window),
            "selection": "window",
            "min_gain": 0.0,
        }
        return _knobs(dict(self.knobs) | training) if self.trains else self.then()

    def then(self) -> AmriKnobs:
        """Behind training."""
        settled = {"tuning_schedule": "off"} if self.settles else {}
        return _knobs(dict(self.knobs) | settled)


def _knobs(values: Mapping[str, object]) -> AmriKnobs:
    exact = {POLICY: THRESHOLDS, "migration_us": _AT_ONCE, **values}
    return AmriKnobs.of(KnobSettings.defaults(AMRI.knobs, exact))


class EddyWork(NamedTuple):
    """Of a batch. units: float64[7], attributes hashed, tuples compared, inserted and deleted, work
    of moving, links, buckets visited, codes that were read in vain. stored, links: tuples and links
    of all states; index_bytes: of all access methods; requests: int64[states, patterns]."""

    n_arrivals: int
    results: int
    units: Floats
    stored: int
    links: int
    index_bytes: int
    cpu_ns: int
    migration_ns: int
    decide_ns: int
    requests: NDArray[np.int64]

    def cost(self, link: float = 1.0, bucket: float = 0.0, code: float = 0.0) -> float:
        """link, bucket, code: what they cost."""
        return float(self.units @ [1.0, 1.0, 1.0, 1.0, link, bucket, code])


def joined(
    plan: NetworkPlan, regions: MemoryRegions, tuning: EddyTuning, part: Sequence[SignedElements]
) -> tuple[Block, EddyProfile]:
    """Results of some elements, and what the eddy saw."""
    strings = Strings(regions.scope("strings"))
    around = Surroundings(plan, regions, strings, Clock(), tunings={JOIN: tuning})
    join = EddyJoin(plan.operator(JOIN), around)
    return join.run(*blocks_of(part)), join.profile()


class EddyLane:
    """An eddy tuned by its own decisions, batch by batch. begin, then: knobs, and those from so
    many arrivals on."""

    def __init__(
        self,
        work: EddyOp,
        widths: Sequence[int],
        begin: AmriKnobs,
        then: AmriKnobs,
        training: int,
        routes_at: RoutesAt = lambda place: (),
    ) -> None:
        self._plan, self._regions = windowed(work, widths), MemoryRegions()
        self.eddy = AdaptedEddy(EddyView.of(self._plan, JOIN, {}), Evaluations())
        self._then, self._training, self._routes_at = then, training, routes_at
        self._n = self._batch = 0
        self._partitions: list[dict[int, Bits]] = [{} for _ in widths]
        self._modules: list[tuple[Pattern, ...]] = [() for _ in widths]
        self.done: list[EddyWork] = []
        self.eddy.turn(begin, {})

    def step(self, part: Sequence[SignedElements], n_arrivals: int) -> JoinStretch:
        """Join the elements that so many tuples bring, and decide on what was seen."""
        if self._then != self.eddy.knobs and self._n >= self._training:
            self.eddy.turn(self._then, {})
        self.eddy.orders[:] = self._routes_at(self._n // len(part)) or self.eddy.orders
        began, tuning = time.process_time(), self.eddy.tuning
        block, profile = joined(self._plan, self._regions, tuning, part)
        ran = time.process_time()
        self.eddy.observe(self._batch, profile)
        done = time.process_time()
        self._n, self._batch = self._n + n_arrivals, self._batch + 1
        decided = int(1e9 * (done - ran))
        self.done.append(self._worked(tuning, profile, n_arrivals, len(block), decided))
        results = answer(block.sign, [column.values for column in block.columns])
        sums = profile.requests.sum(axis=(0, 1)).tolist()
        operations = Operations(n_arrivals, sums[PROBES], sums[MATCHES], sums[SCANNED])
        return JoinStretch(done - began, done - ran, results, operations)

    def _worked(
        self, tuning: EddyTuning, profile: EddyProfile, n_arrivals: int, results: int, decided: int
    ) -> EddyWork:
        """What a batch took under a tuning."""
        states = [*zip(tuning.states, profile.states, strict=True)]
        parts = [self._state_work(port, of, profile) for port, (of, _) in enumerate(states)]
        return EddyWork(
            n_arrivals, results, np.sum(parts, axis=0),
            sum(of.n_tuples for of in profile.states),
            sum(len(state.modules) * of.n_tuples for state, of in states),
            sum(of.index_bytes for of in profile.states), profile.processor_ns,
            sum(of.migration_ns for of in profile.states), decided,
            profile.requests[:, :, PROBES].copy(),
        )  # fmt: skip

    def _state_work(self, port: int, state: StateTuning, profile: EddyProfile) -> Floats:
        """float64[7]: as of ``EddyWork``."""
        report, counts = profile.states[port], profile.requests[port].astype(np.float64)
        came, went = profile.came[port].tolist()
        asked = sum(row[PROBES] * hashed_by(state, p) for p, row in enumerate(counts))
        indexed = sum(bits > 0 for bits in state.bits or ())
        keys = sum(module.bit_count() for module in state.modules)
        made = [module for module in state.modules if module not in self._modules[port]]
        anew = (report.n_tuples - came) * (self._batch > 0)
        before, self._modules[port] = self._partitions[port], state.modules
        self._partitions[port] = {row.number: row.bits for row in report.partitions}
        moved = sum(
            moving_cost(COUNTED, row.n_tuples, before.get(row.number, row.bits), row.bits)
            for row in report.partitions
        )
        moved += anew * sum(module.bit_count() for module in made)
        in_vain = counts[:, CODES_READ].sum()
        return np.array(
            [
                asked + came * (indexed + keys), counts[:, SCANNED].sum() - in_vain, came + went,
                moved,
                came * len(state.modules) + anew * len(made), counts[:, BUCKETS].sum(),
                in_vain,
            ]
        )  # fmt: skip


def hashed_by(state: StateTuning, pattern: Pattern) -> int:
    """Attributes of a request that are hashed: by the hash index that answers it, or the bits."""
    module = module_for(pattern, state.modules)
    if state.bits is not None:
        serving = dict(state.serves).get(pattern, pattern)
        module = serving if serving in state.modules else None
        if module is None:
            n = len(state.bits)
            return (pattern & pattern_of([k for k in range(n) if state.bits[k]], n)).bit_count()
    return 0 if module is None else module.bit_count()


def eddy_lane(case: EddyCase, begin: AmriKnobs, then: AmriKnobs) -> EddyLane:
    """An eddy in a case. Where routes are dealt, the router has no choice."""
    if case.are_dealt:
        begin, then = replace(begin, router="fixed"), replace(then, router="fixed")
    widths = (N_STREAMS - 1,) * N_STREAMS
    return EddyLane(CLIQUE, widths, begin, then, N_STREAMS * case.training, case.routes)


#: Results of the first design of each case and seed, batch by batch.
_FOUND: dict[tuple[EddyCase, int], list[Any]] = {}


def eddy_run(case: EddyCase, design: EddyDesign, seed: int) -> tuple[EddyWork, ...]:
    """What each batch behind training took. Raises DifferentResults: another design of the case
    found something else."""
    return _run(case, design.begin(case.window), design.then(), seed)


@cache
def _run(case: EddyCase, begin: AmriKnobs, then: AmriKnobs, seed: int) -> tuple[EddyWork, ...]:
    lane, arrivals = eddy_lane(case, begin, then), case.arrivals(np.random.default_rng(seed))
    inputs, n = elements(arrivals), len(arrivals.streams)
    length, answers = case.batch, []
    for first in range(0, n, length):
        part = between(inputs, first, first + length)
        answers.append(lane.step(part, min(length, n - first)).answered)
    if _FOUND.setdefault((case, seed), answers) != answers:
        raise DifferentResults(f"{case.name}: other results than those found first, with {then}")
    return tuple(lane.done[-(-N_STREAMS * case.training // length) :])
