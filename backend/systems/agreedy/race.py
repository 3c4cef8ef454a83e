"""A race: algorithms side by side on the same profile tuples, each with an order of its own.

Nothing they decide is run. Each racer keeps its own profile window, matrix view and order; the
profile tuples, the costs of the filters and the moments of flushing are those of the algorithm in
force, so a racer of that algorithm keeps its very order. What a racer's order costs is estimated on
the batch's profile tuples before the racer sees them; the paper's Fig. 4.19-4.21 plot it per 2 000
tuples. [B05] §4.7.4

The work is bounded: per batch one step of the window, one check and one pass over the batch's
profile tuples for each racer; 'optimal' races with few filters only.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Final, NamedTuple

from backend.adaptive.core import Cooldown
from backend.adaptive.ordering.costing import tuple_costs
from backend.adaptive.ordering.findings import Situation
from backend.adaptive.ordering.policies import Policy, policy_class
from backend.adaptive.ordering.ranks import Picoseconds
from backend.adaptive.ordering.view import MatrixView
from backend.adaptive.ordering.window import ProfileWindow
from backend.model.filters import DROPPED, Outcomes
from backend.systems.agreedy.knobs import ALGORITHMS, AgreedyKnobs
from backend.systems.agreedy.profiler import Profiler

#: Tuples of the stream between two readings of the costs, and what the costs are of.
STRETCH_TUPLES: Final = 2000
#: Profile tuples a reading takes; a stretch goes on until they are there.
LEAST_SAMPLE: Final = 10


class RaceStep(NamedTuple):
    """What a batch brought: n_tuples of the stream, complete profile tuples, costs by filter.

    outcomes: int8[k, n], columns by filter; n_passed more passed all filters. flush: the algorithm
    in force emptied its window on account of a detected change.
    """

    n_tuples: int
    outcomes: Outcomes
    n_passed: int
    time_s: float
    costs: tuple[Picoseconds, ...]
    flush: bool


class Standing(NamedTuple):
    """One algorithm. order: filters by position. changes: new orders since the race began.

    cost_us: of 2 000 tuples on the n_sampled profile tuples of the last stretch; None before the
    first reading and between readings.
    """

    algorithm: str
    order: tuple[str, ...]
    changes: int
    cost_us: float | None
    n_sampled: int


class Racer:
    """One algorithm with its window, view and order, from where the algorithm in force stands."""

    def __init__(
        self, policy: Policy, view: MatrixView, window: ProfileWindow, waited: int | None
    ) -> None:
        self.name = policy.name
        self.view = view
        self.changes = 0
        self._policy = policy
        self._window = window
        self._cooldown = Cooldown(waited)
        self._us = 0.0
        self._n = 0

    def follow(self, step: RaceStep, knobs: AgreedyKnobs) -> None:
        """Pay for the batch under the present order, then take in its profile and check."""
        paid = tuple_costs(step.outcomes == DROPPED, step.n_passed, self.view.order, step.costs)
        self._us += float(paid.us.sum())
        self._n += len(paid.us)
        n_expired = self._slide(step, knobs)
        self._cooldown.passed(step.n_tuples)
        if len(step.outcomes) or n_expired:
            self._check(step.costs, knobs, len(step.outcomes))

    @property
    def n_sampled(self) -> int:
        """Profile tuples since the last reading."""
        return self._n

    def reading(self) -> tuple[float | None, int]:
        """Cost of 2 000 tuples since the last reading, in us, and the profile tuples behind it."""
        n, us = self._n, self._us
        self._n, self._us = 0, 0.0
        return (us / n * STRETCH_TUPLES if n else None), n

    def _slide(self, step: RaceStep, knobs: AgreedyKnobs) -> int:
        """One step of the window; how many profile tuples went out."""
        window = self._window
        inserted = window.add(step.outcomes, step.n_passed, step.time_s)
        held = len(window)
        since = None if knobs.keep_s is None else step.time_s - knobs.keep_s
        expired = window.expire(knobs.keep_tuples, since)
        n_expired = held - len(window)
        self.view.update(inserted, expired)
        if step.flush:
            self._empty()
        return n_expired

    def _check(self, costs: tuple[Picoseconds, ...], knobs: AgreedyKnobs, n_new: int) -> None:
        window = self._window
        n_tuples = len(window) + window.n_passed
        complete = window.is_complete
        s = Situation(self.view, window.columns, costs, n_tuples, knobs.rule, complete)
        finding = self._policy.find(s)
        if finding is None:
            return
        verdict = self._policy.verdict(knobs, len(window), finding, self._cooldown)
        switched = verdict == "switched"
        if switched:
            order = self._policy.propose(s, finding).order
            self.view.reorder(order, window.columns)
            self.changes += 1
            self._cooldown.switched()
        if self._policy.restarts(n_new, switched):
            self._empty()

    def _empty(self) -> None:
        self._window.clear()
        self.view.rebuild(self._window.columns)


class Race:
    """The racers, and what their orders cost. Without racers it does nothing."""

    def __init__(self) -> None:
        self._racers: list[Racer] = []
        self._readings: dict[str, tuple[float | None, int]] = {}
        self._n_tuples = 0
        self._names: tuple[str, ...] = ()

    @property
    def is_on(self) -> bool:
        return bool(self._racers)

    def begin(
        self, knobs: AgreedyKnobs, profiler: Profiler, policy: Policy, waited: int | None
    ) -> None:
        """Line up: everybody starts with the order in force, and its window if that is complete.

        The algorithm in force races as it stands, with its window and its stage.
        """
        self._readings, self._n_tuples = {}, 0
        self._names = profiler.names
        self._racers = []
        for name in entrants(knobs, profiler):
            if name == policy.name:
                runs, since, window = copy.deepcopy(policy), waited, profiler.window
            else:
                runs, since = policy_class(name).of(knobs), None
                empty = ProfileWindow(len(profiler.names))
                window = profiler.window if profiler.window.is_complete else empty
            own = copy.deepcopy(window)
            view = MatrixView(profiler.view.order, profiler.n_native)
            view.rebuild(own.columns)
            self._racers.append(Racer(runs, view, own, since))

    def follow(self, step: RaceStep, knobs: AgreedyKnobs) -> None:
        """Everybody takes in the batch; when a stretch is over, the costs are read."""
        for racer in self._racers:
            racer.follow(step, knobs)
        self._readings = {}
        self._n_tuples += step.n_tuples
        if self._n_tuples >= STRETCH_TUPLES:
            self._read()

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The racers as of the last batch."""
        return tuple(
            Standing(
                racer.name,
                tuple(self._names[x] for x in racer.view.order),
                racer.changes,
                *self._readings.get(racer.name, (None, 0)),
            )
            for racer in self._racers
        )

    def _read(self) -> None:
        if self._racers and self._racers[0].n_sampled < LEAST_SAMPLE:
            return
        self._readings = {racer.name: racer.reading() for racer in self._racers}
        self._n_tuples = 0


def entrants(knobs: AgreedyKnobs, profiler: Profiler) -> Sequence[str]:
    """The algorithms that race: the one in force and the one named, or all; none for one filter."""
    if knobs.race == "off" or len(profiler.names) < 2:
        return ()
    chosen = ALGORITHMS if knobs.race == "all" else (knobs.filter_algorithm, knobs.race)
    most = max(profiler.n_native, len(profiler.names) - profiler.n_native)
    limits = {name: policy_class(name).race_up_to for name in ALGORITHMS if name in chosen}
    return [name for name, limit in limits.items() if limit is None or most <= limit]
