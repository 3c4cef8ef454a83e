"""The joins of a network as an operator core: what is the same whatever is decided of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from backend.adaptive.core import Evaluations
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.tuning import Tuning
from backend.systems.contract import UnitState
from backend.systems.cores import LaidOutNetwork, OperatorCore
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.records import Entity, Json, Matrix


class DecidedJoin(Protocol):
    """A join with decisions of its own."""

    @property
    def tuning(self) -> Tuning:
        """How it is to be executed."""

    def state(self) -> Mapping[str, Any]:
        """As JSON-typed data."""

    def restore(self, state: Mapping[str, Any], totals: Any) -> None:
        """Go on where ``state`` was taken."""


class ShownJoin(Protocol):
    """A join with the ids of what belongs to it, at one moment."""

    @property
    def id(self) -> str:
        """Of the operator."""

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        """The plan with what belongs to it."""

    def entities(self) -> Sequence[Entity]:
        """What belongs to it."""

    def matrices(self) -> Sequence[Matrix]:
        """As of the last decision."""

    def totals_in(self, state: UnitState) -> Any:
        """As a killed run published them last."""


JoinT = TypeVar("JoinT", bound=DecidedJoin)
ShownT = TypeVar("ShownT", bound=ShownJoin)


class JoinsByOperator(OperatorCore, Mapping[str, JoinT], Generic[JoinT, ShownT]):
    """All joins of a network that a kind of core adapts, by operator. state_name: of their part in
    the state of a run."""

    state_name: str

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._by_id: dict[str, JoinT] = {}
        self._network: LaidOutNetwork | None = None
        self._shown_now: list[ShownT] | None = None

    def __getitem__(self, id: str) -> JoinT:
        return self._by_id[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    @abstractmethod
    def _show(self, network: LaidOutNetwork, id: str) -> ShownT:
        """A join of the network at this moment."""

    @property
    def _shown(self) -> list[ShownT]:
        """All of them, until ``_shown_now`` is taken back."""
        if self._shown_now is None and self._network is not None:
            self._shown_now = [self._show(self._network, id) for id in self]
        return self._shown_now or []

    @property
    def _tunings(self) -> dict[str, Tuning]:
        return {id: join.tuning for id, join in self.items()}

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return job.executed(self._tunings)

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        for join in self._shown:
            graph = join.drawn(graph)
        return graph

    def entities(self) -> list[Entity]:
        return [entity for join in self._shown for entity in join.entities()]

    def matrices(self) -> list[Matrix]:
        return [matrix for join in self._shown for matrix in join.matrices()]

    def state(self) -> Mapping[str, Json]:
        return {self.state_name: {id: join.state() for id, join in self.items()}}

    def restore(self, state: UnitState) -> None:
        known = state.facts.get(self.state_name, {})
        for join in self._shown:
            if join.id in known:
                self[join.id].restore(known[join.id], join.totals_in(state))
        self._shown_now = None


def keys_of(plan: NetworkPlan, id: str) -> Mapping[str, int]:
    """The columns that part the shards of an operator; none: it runs in one."""
    return next((group.keys for group in plan.groups if id in group.operators), {})


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Those that come several times with a number."""
    return tuple(
        name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    )
