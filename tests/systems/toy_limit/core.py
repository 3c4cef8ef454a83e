"""Drops every k-th tuple of a stream: a core that changes what comes out, and counts meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Final

from backend.adaptive.core import Evaluations
from backend.model.ids import entity_id
from backend.model.knobs import Knobs, KnobSettings, KnobSpec, knob
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.inputs import StreamInput
from backend.systems.contract import Refusal, UnitState
from backend.systems.cores import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    NetworkRan,
    OperatorCore,
)
from backend.systems.publishing import samples_of
from storage.vocabulary.memory import Bid, Grant, MemoryUse, Tier
from storage.vocabulary.properties import Vocabulary
from storage.vocabulary.records import Entity, Event, Json, Sample
from tests.systems.toy_limit.operator import ThinLimit, ThinOp, ThinProfile
from tests.systems.toy_limit.vocabulary import THINNING

#: Tuples dropped from one event to the next.
TOLD_EVERY: Final = 10


@dataclass(frozen=True, slots=True)
class ThinKnobs(Knobs):
    """The knob of each operator."""

    drop_every: int = knob(
        0, low=0, high=1000, unit="tuples", help="One of so many tuples is dropped; 0: none."
    )


@dataclass(frozen=True, slots=True)
class Thinned:
    """Of an operator, tuples. dropped: since the run began; last: in the last batch."""

    dropped: int = 0
    last: int = 0


class Thinning(OperatorCore):
    """All operators that drop tuples. ran: the last batch; pages: granted, of each."""

    def __init__(self) -> None:
        self.ran: NetworkRan | None = None
        self.pages: dict[str, int | None] = {}
        self.seen: dict[str, Thinned] = {}
        self._every: dict[str, int] = {}
        self._network: LaidOutNetwork | None = None

    @property
    def inexact(self) -> Mapping[str, str]:
        return {id: "streams lack tuples" for id, seen in self.seen.items() if seen.last}

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        before, self._network = self.seen, network
        ids = thinned(network.plan)
        self.seen = {id: before.get(id, Thinned()) for id in ids}
        self._every = {id: self._every.get(id, 0) for id in ids}
        return ""

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return job.executed({id: ThinLimit(every) for id, every in self._every.items()})

    def observe(self, ran: NetworkRan) -> CoreNews:
        events, self.ran = list[Event](), ran
        for id, seen in self.seen.items():
            profile = ran.report.operators[id].profile
            n = profile.n_dropped if isinstance(profile, ThinProfile) else 0
            now = self.seen[id] = Thinned(seen.dropped + n, n)
            if now.dropped // TOLD_EVERY > seen.dropped // TOLD_EVERY:
                events.append(Event("thinned", f"{now.dropped} tuples dropped"))
        return CoreNews(tuple(events))

    def _thinner(self, id: str) -> str:
        assert self._network is not None
        return entity_id(self._network.unit_id, "monitor", f"thinner of {id}")

    def parts(self) -> Mapping[str, tuple[KnobSpec, ...]]:
        return {self._thinner(id): ThinKnobs.specs() for id in self.seen}

    def part_turned(self, part: str, settings: KnobSettings) -> None:
        id = next(id for id in self.seen if self._thinner(id) == part)
        self._every[id] = ThinKnobs.of(settings).drop_every

    def bids(self) -> Mapping[str, Bid]:
        return {id: Bid({"": [Tier(1, 1.0)]}, 1, 1, 1.0, self._thinner(id)) for id in self.seen}

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        self.pages = {id: grant.n_pages for id, grant in grants.items()}
        return False

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        return {id: MemoryUse(0, {}) for id in self.seen}

    def entities(self) -> Sequence[Entity]:
        assert self._network is not None
        unit = self._network.unit_id
        return [
            Entity(self._thinner(id), "monitor", f"Thinner of {id}", unit_id=unit, role="thinner")
            for id in self.seen
        ]

    def samples(self, report: NetworkReport) -> Sequence[Sample]:
        return [
            sample
            for id, seen in self.seen.items()
            for sample in samples_of(
                self._thinner(id),
                {
                    "thinned_tuples": (seen.last, "tuples"),
                    "thinned_so_far": (seen.dropped, "tuples"),
                },
            )
        ]

    def state(self) -> Mapping[str, Json]:
        return {"thinned": {id: list(astuple(seen)) for id, seen in self.seen.items()}}

    def restore(self, state: UnitState) -> None:
        for id, known in state.facts.get("thinned", {}).items():
            if id in self.seen:
                self.seen[id] = Thinned(*known)


class ThinningCores:
    """All streams."""

    vocabulary: Vocabulary = THINNING
    knobs: tuple[KnobSpec, ...] = ()

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title

    def planned(self, tree: OperatorTree) -> OperatorTree | Refusal:
        if isinstance(tree.work, StreamInput):
            return OperatorTree(ThinOp(), (tree,), tree.fields)
        below = [self.planned(input) for input in tree.inputs]
        return replace(tree, inputs=tuple(b for b in below if isinstance(b, OperatorTree)))

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        return frozenset(thinned(plan))

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return Thinning()

    def rehearsals(self, plan: NetworkPlan) -> Sequence[Mapping[str, Tuning]]:
        return ()


def thinned(plan: NetworkPlan) -> list[str]:
    """The operators of a plan that drop tuples."""
    return [planned.id for planned, _ in plan.working(ThinOp)]


CORE: Final[CoreKind] = ThinningCores("thinning", "Thinning")
OTHER: Final[CoreKind] = ThinningCores("thinning_too", "Thinning, too")
