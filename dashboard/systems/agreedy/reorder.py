"""What if a knob of filters had been another? The recorded profile decided again, step by step.

Each check left its profile tuples in the record (docs/introspection.md, ``profile``). A ghost run
begins with the recorded window and order, fills a window of its own with the same tuples and orders
the filters by the engine's rule under other knobs. Under the recorded knobs it repeats the record.
What an order costs is told by the tuples of a step before they enter the window, as in a race.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dashboard.systems.agreedy.filter_rule import (
    OPTIMAL_UP_TO,
    Drops,
    Tested,
    comparable,
    order_cost,
    proposed,
    swept,
)
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import Json

#: Windows hold no more batches that hardly drop anything.
_SPARE: Final = 64
_PS_PER_US: Final = 1e6


class Profiled(NamedTuple):
    """Profile tuples of a batch. drops: bool[k, n] of those that are left of n_dropped; n_passed:
    tuples that passed, with all of them."""

    time: float
    drops: Drops
    n_dropped: int
    n_passed: int

    @property
    def passes_left(self) -> int:
        """Passes go with the dropped tuples they came with."""
        left = self.n_passed * len(self.drops)
        return left // self.n_dropped if self.n_dropped else self.n_passed


class ProfileStep(NamedTuple):
    """One batch as recorded. order: in force when it was decided on; verdict: '' without a check.
    window: what the window held then, with the batch; None: that is not recorded. fresh: the ghost
    begins anew. ps: picoseconds by filter. n_ran: tuples that the cool-down counts."""

    batch: int
    new: Profiled
    n_ran: int
    fresh: bool
    n_native: int
    order: tuple[int, ...]
    waited: int | None
    flushed: bool
    ps: tuple[int, ...]
    verdict: str
    knobs: Mapping[str, Any]
    window: tuple[Profiled, ...] | None


class OrderStep(NamedTuple):
    """One batch of both runs: microseconds per tuple of its n profile tuples under the order of
    each, and whether each went over to another one then."""

    step: ProfileStep
    real_us: float
    ghost_us: float
    n: int
    real_switched: bool
    ghost_switched: bool
    ghost_order: tuple[int, ...]


class _Ghost:
    """The state of the ghost run."""

    def __init__(self, step: ProfileStep) -> None:
        self.order = list(step.order)
        self.window = list(step.window or ())
        self.waited = step.waited
        self.stage = self.n_stage = 0

    def take(self, step: ProfileStep, knobs: Mapping[str, Any]) -> int:
        """The batch enters the window; how many tuples went out."""
        if step.new.n_dropped or step.new.n_passed:
            self.window.append(step.new)
        if self.waited is not None:
            self.waited += step.n_ran
        return self.expire(step, knobs)

    def expire(self, step: ProfileStep, knobs: Mapping[str, Any]) -> int:
        """Forget what the knobs do not keep; how many dropped tuples."""
        held = self.n_held
        if knobs["window_by"] == "tuples":
            keep = int(knobs["window_tuples"])
            del self.window[: max(0, len(self.window) - 2 * keep - _SPARE)]
            self._forget(self.n_held - keep)
        else:
            since = step.new.time - float(knobs["window_s"])
            while self.window and self.window[0].time < since:
                del self.window[0]
        n_gone = held - self.n_held
        if step.flushed:
            self.window.clear()
        return n_gone

    @property
    def n_held(self) -> int:
        return sum(len(one.drops) for one in self.window)

    def _forget(self, surplus: int) -> None:
        while surplus > 0:
            oldest = self.window[0]
            gone = min(surplus, len(oldest.drops))
            surplus -= gone
            self.window[0] = oldest._replace(drops=oldest.drops[gone:])
            if gone == len(oldest.drops):
                del self.window[0]

    def check(self, step: ProfileStep, knobs: Mapping[str, Any]) -> bool:
        """Whether it goes over to another order."""
        tested = self._tested(step, knobs)
        least = _least(knobs)
        if not comparable(self.order, step.n_native).any():
            return False
        if tested.algorithm == "sweep":
            least = min(least, int(knobs["stage_tuples"]))
        waits = self.waited is not None and self.waited < int(knobs["cooldown_tuples"])
        found = None
        if tested.algorithm != "static" and len(tested.drops) >= least and not waits:
            found = proposed(self.order, tested)
        if found is not None:
            self.order, self.waited = list(found), 0
        self._restart(step, tested, knobs, found is not None)
        return found is not None

    def _restart(
        self, step: ProfileStep, tested: Tested, knobs: Mapping[str, Any], switched: bool
    ) -> None:
        """Algorithms that need other bits from now on begin with an empty window."""
        if tested.algorithm == "local swaps" and switched:
            self.window.clear()
        if tested.algorithm == "sweep" and swept(self.order, tested) is not None:
            self.n_stage += step.new.n_dropped
            if switched or self.n_stage >= int(knobs["stage_tuples"]):
                self.stage, self.n_stage = self.stage + 1, 0
                self.window.clear()

    def _tested(self, step: ProfileStep, knobs: Mapping[str, Any]) -> Tested:
        none = np.zeros((0, len(step.ps)), dtype=np.bool_)
        return Tested(
            drops=np.concatenate([none, *(one.drops for one in self.window)]),
            n_passed=sum(one.passes_left for one in self.window),
            ps=step.ps,
            n_native=step.n_native,
            algorithm=str(knobs["filter_algorithm"]),
            by_evidence=knobs["violation_rule"] == "evidence",
            alpha=float(knobs["alpha"]),
            confidence=float(knobs["confidence"]),
            stage=self.stage,
        )


def _least(knobs: Mapping[str, Any]) -> int:
    """Profile tuples a check takes; a shorter window can never be full enough."""
    asked = int(knobs["min_samples"])
    return min(asked, int(knobs["window_tuples"])) if knobs["window_by"] == "tuples" else asked


def reorder(
    steps: Sequence[ProfileStep], knobs: Mapping[str, Any], since: int = 0
) -> list[OrderStep]:
    """The ghost run with these values of REORDERED knobs from batch ``since`` on, the others, and
    all before, as recorded. Told from there on. Empty where it cannot be told: too many filters to
    try all orders of."""
    if knobs.get("filter_algorithm") == "optimal" and any(map(_is_large, steps)):
        return []
    found: list[OrderStep] = []
    ghost: _Ghost | None = None
    for step in steps:
        mine = {**step.knobs, **knobs} if step.batch >= since else step.knobs
        if step.window is not None and (ghost is None or step.fresh):
            ghost = _Ghost(step)
            n_gone = ghost.expire(step, mine)
        elif ghost is None or step.fresh:
            ghost = None
            continue
        else:
            n_gone = ghost.take(step, mine)
        before = tuple(ghost.order)
        looks = bool(len(step.new.drops) or n_gone)
        switched = ghost.check(step, mine) if looks else False
        real, other = (_mean_us(order, step) for order in (step.order, before))
        n = step.new.n_dropped + step.new.n_passed
        went = step.verdict == "switched"
        found.append(OrderStep(step, real, other, n, went, switched, tuple(ghost.order)))
    return [one for one in found if one.step.batch >= since]


def _is_large(step: ProfileStep) -> bool:
    return max(step.n_native, len(step.order) - step.n_native) > OPTIMAL_UP_TO


def _mean_us(order: Sequence[int], step: ProfileStep) -> float:
    new = step.new
    tested = Tested(new.drops, new.n_passed, step.ps, step.n_native, "", False, 1.0, 0.5)
    n = tested.n_tuples
    return order_cost(order, tested) / n / _PS_PER_US if n else 0.0


def read_steps(entries: Iterable[DecisionEntry]) -> list[ProfileStep]:
    """The steps of stored checks, oldest first, from the first one whose window is recorded."""
    found: list[ProfileStep] = []
    knobs: Mapping[str, Any] = {}
    for entry in sorted(entries, key=lambda one: one.decision.seq):
        detail = entry.decision.detail
        for row in detail.get("profile", ()) if isinstance(detail, Mapping) else ():
            knobs = row.get("knobs", knobs)
            if knobs:
                found.append(_step(row, knobs))
    return found


def _step(row: Mapping[str, Any], knobs: Mapping[str, Any]) -> ProfileStep:
    n, held = int(row["n_filters"]), row.get("window")
    return ProfileStep(
        batch=int(row["batch"]),
        new=_profiled(row, n),
        n_ran=int(row["n_ran"]),
        fresh=bool(row["fresh"]),
        n_native=int(row["n_native"]),
        order=tuple(row["order"]),
        waited=row["waited"],
        flushed=bool(row["flushed"]),
        ps=tuple(row["ps"]),
        verdict=str(row.get("verdict", "")),
        knobs=knobs,
        window=None if held is None else tuple(_profiled(one, n) for one in held),
    )


def _profiled(row: Mapping[str, Json], n_filters: int) -> Profiled:
    k = int(row["k"])
    packed = np.frombuffer(base64.b64decode(row["drops"]), dtype=np.uint8)
    drops = np.unpackbits(packed, count=k * n_filters).astype(np.bool_).reshape(k, n_filters)
    return Profiled(float(row["time"]), drops, int(row.get("n_dropped", k)), int(row["passed"]))
