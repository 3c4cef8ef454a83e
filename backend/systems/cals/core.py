"""The windows of a network that may shed as an operator core. [AL11]"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from backend.adaptive.core import Evaluations
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning
from backend.systems.cals.knobs import CalsKnobs
from backend.systems.cals.lengths import answered_lengths
from backend.systems.cals.planning import planned
from backend.systems.cals.published import shed_matrices, window_samples
from backend.systems.cals.window import AdaptedWindow
from backend.systems.contract import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    OperatorCore,
    Refusal,
    UnitState,
)
from storage.vocabulary.cals import CALS as VOCABULARY
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.memory import Bid, Grant, MemoryUse
from storage.vocabulary.records import Decision, Entity, Json, Matrix, Sample

#: Types of valid times -> the unit they are counted in.
_TIME_UNITS: Final = {"timestamp": "us", "date": "days"}


class CalsCore:
    """All windows of a network that may shed, by operator."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._windows: dict[str, AdaptedWindow] = {}
        self._network: LaidOutNetwork | None = None
        self._version = 0
        self._news: list[Matrix] = []

    @property
    def inexact(self) -> str:
        """Which windows shed."""
        return "; ".join(filter(None, (window.inexact for window in self._windows.values())))

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan or other knobs: windows that are in it still keep what they know."""
        before, self._network = self._windows, network
        options, self._version = CalsKnobs.of(settings).options, settings.version
        self._windows = {}
        for planned_operator, _ in network.plan.working(ShedOp):
            id = planned_operator.id
            window = before.get(id) or AdaptedWindow(network.names[id])
            window.name, window.options = network.names[id], options
            window.lengths = answered_lengths(network.plan, id)
            window.time_unit = _TIME_UNITS.get(planned_operator.fields[-1].type, "")
            self._windows[id] = window
        return ""

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return job.executed({id: window.tuning for id, window in self._windows.items()})

    def observe(self, batch_id: int, n_tuples: int, report: NetworkReport) -> CoreNews:
        records: list[Decision] = []
        self._news = []
        for id, window in self._windows.items():
            counts = report.operators.get(id)
            if counts is not None and isinstance(counts.profile, ShedProfile):
                profile = counts.profile
                records += window.observe(batch_id, profile, self._evaluations, self._version)
                self._news += shed_matrices(self._node(id), window)
        return CoreNews(tuple(records))

    # ------------------------------------------------------------------ memory

    def bids(self) -> Mapping[str, Bid]:
        """Windows have a limit of their own."""
        return {}

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        """Nothing was asked for."""
        return False

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        return {}

    # ------------------------------------------------------------------ what is published

    def _node(self, id: str) -> str:
        assert self._network is not None
        return self._network.node(id)

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        return graph

    def entities(self) -> Sequence[Entity]:
        return ()

    def samples(self, report: NetworkReport) -> Sequence[Sample]:
        return [
            sample
            for id, window in self._windows.items()
            for sample in window_samples(self._node(id), window)
        ]

    def matrices(self) -> Sequence[Matrix]:
        return self._news

    # ------------------------------------------------------------------ kills

    def state(self) -> Mapping[str, Json]:
        """All there is to know is counted in every batch."""
        return {}

    def restore(self, state: UnitState) -> None:
        for id, window in self._windows.items():
            window.restore(state.totals.get(self._node(id), {}))


class CalsCores:
    """What windows of temporal queries keep."""

    name = "cals"
    title = "CALS"
    vocabulary = VOCABULARY
    knobs: tuple[KnobSpec, ...] = CalsKnobs.specs()

    def planned(self, tree: OperatorTree) -> OperatorTree | Refusal:
        return planned(tree)

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        windows = frozenset(operator.id for operator, _ in plan.working(ShedOp))
        return windows or Refusal("it coalesces no window, so nothing can be shed")

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return CalsCore(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> list[Mapping[str, Tuning]]:
        """It has no kernels."""
        return [{operator.id: ShedTuning() for operator, _ in plan.working(ShedOp)}]


CALS: Final[CoreKind] = CalsCores()
