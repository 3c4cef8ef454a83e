"""Turns the probe orders of every join once it has taken so many tuples: a core with state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from backend.adaptive.core import Evaluations
from backend.model.ids import entity_id
from backend.model.knobs import Knobs, KnobSettings, KnobSpec, knob
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.contract import Refusal, UnitState
from backend.systems.cores import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    NetworkRan,
    OperatorCore,
)
from backend.systems.publishing import samples_of
from storage.vocabulary.memory import PAGE_BYTES, Bid, Grant, MemoryUse, Tier
from storage.vocabulary.records import Decision, Entity, Json, Matrix, Sample
from tests.systems.toy_core.vocabulary import TURNING


@dataclass(frozen=True, slots=True)
class TurningKnobs(Knobs):
    """The one knob."""

    turn_every: int = knob(
        500, low=1, high=1_000_000, unit="tuples", help="Tuples between two turns of the orders."
    )


@dataclass
class Wheel:
    """One join. n: its inputs; taken: tuples since the last turn; turns: since the run began."""

    n: int
    taken: int = 0
    turns: int = 0

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """For each input the others, begun ``turns`` places further on."""
        others = ([j for j in range(self.n) if j != i] for i in range(self.n))
        return tuple(tuple(o[self.turns % len(o) :] + o[: self.turns % len(o)]) for o in others)


class Turning(OperatorCore):
    """The wheels of all joins of a network, by operator."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._wheels: dict[str, Wheel] = {}
        self._every, self._version = 0, 0
        self._network: LaidOutNetwork | None = None
        self.granted: dict[str, int] = {}

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        before, self._network = self._wheels, network
        self._every, self._version = TurningKnobs.of(settings).turn_every, settings.version
        self._wheels = {
            id: before.get(id, Wheel(len(network.plan.operator(id).inputs)))
            for id in joins(network.plan)
        }
        return ""

    def tuned(self, job: NetworkJob) -> NetworkJob:
        own = {id: JoinTuning(orders=wheel.orders) for id, wheel in self._wheels.items()}
        return job.executed(own)

    def observe(self, ran: NetworkRan) -> CoreNews:
        records = tuple(self._looked(ran.batch_id, id, ran.n_tuples) for id in self._wheels)
        return CoreNews(records, any(one.verdict == "switched" for one in records))

    def _looked(self, batch_id: int, id: str, n_tuples: int) -> Decision:
        wheel = self._wheels[id]
        wheel.taken += n_tuples
        taken, turns = wheel.taken, wheel.taken >= self._every
        if turns:
            wheel.taken, wheel.turns = 0, wheel.turns + 1
        return Decision(
            seq=self._evaluations.count(),
            batch=batch_id,
            algorithm="turning",
            kind="turn",
            verdict="switched" if turns else "below_threshold",
            metric="taken_tuples",
            lhs=taken,
            relation=">=",
            rhs=self._every,
            n=n_tuples,
            n_sample=n_tuples,
            knob_version=self._version,
            explanation=f"{taken} tuples since the last turn",
        )

    def bids(self) -> Mapping[str, Bid]:
        """Two pages for each join, the second worth half of the first."""
        wants = {"spokes": [Tier(1, 1.0), Tier(1, 0.5)]}
        return {
            id: Bid(wants, 2, 1, wheel.taken, self._wheel(id)) for id, wheel in self._wheels.items()
        }

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        pages = {id: 2 if one.n_pages is None else one.n_pages for id, one in grants.items()}
        self.granted = {id: n * PAGE_BYTES for id, n in pages.items()}
        return False

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        return {id: MemoryUse(n_bytes, {"spokes": n_bytes}) for id, n_bytes in self.granted.items()}

    def _wheel(self, id: str) -> str:
        assert self._network is not None
        return entity_id(self._network.unit_id, "monitor", f"wheel of {id}")

    def entities(self) -> Sequence[Entity]:
        assert self._network is not None
        unit, names = self._network.unit_id, self._network.names
        return [
            Entity(self._wheel(id), "monitor", f"Wheel of {names[id]}", unit_id=unit, role="wheel")
            for id in self._wheels
        ]

    def samples(self, report: NetworkReport) -> Sequence[Sample]:
        return [
            sample
            for id, wheel in self._wheels.items()
            for sample in samples_of(self._wheel(id), {"turned_total": (wheel.turns, "turns")})
        ]

    def matrices(self) -> Sequence[Matrix]:
        rows = tuple(map(self._wheel, self._wheels))
        values = [[wheel.turns] for wheel in self._wheels.values()]
        return (Matrix("turns", "turns", rows, ("turns",), values, "turns"),)

    def state(self) -> Mapping[str, Json]:
        return {"wheels": {id: [one.taken, one.turns] for id, one in self._wheels.items()}}

    def restore(self, state: UnitState) -> None:
        for id, (taken, turns) in state.facts.get("wheels", {}).items():
            if id in self._wheels:
                self._wheels[id] = replace(self._wheels[id], taken=taken, turns=turns)


class TurningCores:
    """All joins."""

    name = "turning"
    title = "Turning joins"
    vocabulary = TURNING
    knobs: tuple[KnobSpec, ...] = TurningKnobs.specs()

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        return frozenset(joins(plan)) or Refusal("it joins nothing, so there is nothing to turn")

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return Turning(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> Sequence[Mapping[str, Tuning]]:
        return ()


def joins(plan: NetworkPlan) -> list[str]:
    """The joins of a plan."""
    return [one.id for one in plan.operators if isinstance(one.work, JoinOp)]


CORE: Final[CoreKind] = TurningCores()
