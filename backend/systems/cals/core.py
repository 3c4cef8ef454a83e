"""The windows of a network that may shed as an operator core. [AL11]"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from backend.adaptive.core import Evaluations
from backend.model.ids import entity_id
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.core.work import OperatorTree, PlannedOperator
from backend.operators.network.kinds.sampling import SampleOp
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.shedding.options import ShedAlgorithm, ShedOptions
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning
from backend.systems.cals.knobs import AUTO, CalsKnobs
from backend.systems.cals.lengths import answered_lengths
from backend.systems.cals.memory import beside_bytes
from backend.systems.cals.planning import planned
from backend.systems.cals.published import shed_matrices, window_samples
from backend.systems.cals.window import AdaptedWindow
from backend.systems.contract import Refusal, Refused, UnitState
from backend.systems.cores import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    NetworkRan,
    OperatorCore,
)
from backend.systems.joined import keys_of
from storage.vocabulary.cals import CALS as VOCABULARY
from storage.vocabulary.memory import PAGE_BYTES, Bid, Grant, MemoryUse
from storage.vocabulary.records import Decision, Json, Matrix, Sample

#: Types of valid times -> the unit they are counted in.
_TIME_UNITS: Final = {"timestamp": "us", "date": "days"}
_WORD: Final = 8
#: That a tuple of a sample takes beside its columns, one of which is its probability.
_SAMPLE_WORDS: Final = 3
#: The name of what a resumed run needs.
_STATE: Final = "cals"


def shedding(plan: NetworkPlan) -> list[PlannedOperator]:
    """The operators of a plan that may shed."""
    return [operator for operator in plan.operators if isinstance(operator.work, ShedOp | SampleOp)]


def _turn(
    window: AdaptedWindow, planned_operator: PlannedOperator, plan: NetworkPlan, knobs: CalsKnobs
) -> None:
    """Other knobs for a window, or another plan."""
    work, n_words = planned_operator.work, len(planned_operator.fields)
    window.is_sample = isinstance(work, SampleOp)
    window.turned = knobs.sampling if window.is_sample else knobs.options
    if isinstance(work, ShedOp):
        if work.has_open:  # ends that go on tick by tick are kept as they are
            window.turned = window.turned._replace(state_form="tuples")
        window.lengths = answered_lengths(plan, planned_operator.id)
        window.time_unit = _TIME_UNITS.get(planned_operator.fields[-1].type, "")
        window.by_rows = work.window.kind == "rows"
        window.is_auto = knobs.shed_algorithm == AUTO
    else:
        n_words += _SAMPLE_WORDS
    window.floor.turn(knobs.accuracy_floor)
    pool = window.pool
    pool.limit_bytes, pool.weight = knobs.state_pool_bytes, knobs.shed_weight
    pool.as_runs = window.turned.state_form == "runs"
    pool.price, pool.objective = knobs.accuracy_price, knobs.shed_objective
    pool.row_bytes, pool.beside = _WORD * n_words, beside_bytes(window.options)


class CalsCore(OperatorCore):
    """All windows of a network that may shed, by operator."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._windows: dict[str, AdaptedWindow] = {}
        self._network: LaidOutNetwork | None = None
        self._version = 0
        self._news: list[Matrix] = []

    @property
    def inexact(self) -> Mapping[str, str]:
        """Which windows shed."""
        return {id: window.inexact for id, window in self._windows.items() if window.inexact}

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan or other knobs: windows that are in it still keep what they know."""
        before, self._network = self._windows, network
        knobs, self._version = CalsKnobs.of(settings), settings.version
        self._windows = {}
        for planned_operator in shedding(network.plan):
            id = planned_operator.id
            window = before.get(id) or AdaptedWindow(network.names[id])
            window.name = network.names[id]
            _turn(window, planned_operator, network.plan, knobs)
            window.pool.n_shards = settings.whole("shards") if keys_of(network.plan, id) else 1
            self._windows[id] = window
        return ""

    def check(self, network: LaidOutNetwork, settings: KnobSettings) -> None:
        """Raises Refused for a pool that has not a page for a window."""
        n_bytes = CalsKnobs.of(settings).state_pool_bytes
        for operator in shedding(network.plan):
            n_shards = settings.whole("shards") if keys_of(network.plan, operator.id) else 1
            if 0 < n_bytes < PAGE_BYTES * n_shards:
                each = f" in each of {n_shards} shards" if n_shards > 1 else ""
                raise Refused(
                    f"state_pool_bytes = {n_bytes} refused: {network.names[operator.id]} needs a "
                    f"page of {PAGE_BYTES} bytes{each}; allowed: 0, for no limit, or "
                    f"{PAGE_BYTES * n_shards} and more"
                )

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return job.executed({id: window.tuning for id, window in self._windows.items()})

    def observe(self, ran: NetworkRan) -> CoreNews:
        records: list[Decision] = []
        before = [window.tuning for window in self._windows.values()]
        self._news = []
        for id, window in self._windows.items():
            counts = ran.report.operators.get(id)
            if counts is not None and isinstance(counts.profile, ShedProfile):
                profile = counts.profile
                records += window.observe(ran.batch_id, profile, self._evaluations, self._version)
                self._news += shed_matrices(self._node(id), window)
        return CoreNews(tuple(records), self._is_new(before))

    def _is_new(self, before: Sequence[ShedTuning]) -> bool:
        return before != [window.tuning for window in self._windows.values()]

    # ------------------------------------------------------------------ memory

    def bids(self) -> Mapping[str, Bid]:
        return {
            id: window.pool.bid(self._node(id), self._kept(id))
            for id, window in self._windows.items()
        }

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        before = [window.tuning for window in self._windows.values()]
        for id, window in self._windows.items():
            window.pool.grant(grants[id].n_pages)
        return self._is_new(before)

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        windows = self._windows.items()
        return {
            id: window.pool.use(window.held_bytes + window.profile.audit_bytes)
            for id, window in windows
        }

    # ------------------------------------------------------------------ what is published

    def _node(self, id: str) -> str:
        assert self._network is not None
        return self._network.node(id)

    def _kept(self, id: str) -> str:
        """The entity of what an operator keeps."""
        assert self._network is not None
        return entity_id(self._network.unit_id, "synopsis", id)

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
        return {_STATE: {id: window.state() for id, window in self._windows.items()}}

    def restore(self, state: UnitState) -> None:
        known = state.facts.get(_STATE, {})
        for id, window in self._windows.items():
            window.restore(state.totals.get(self._node(id), {}), known.get(id, {}))


class CalsCores:
    """What windows of temporal queries keep."""

    name = "cals"
    title = "CALS"
    vocabulary = VOCABULARY
    knobs: tuple[KnobSpec, ...] = CalsKnobs.specs()

    def planned(self, tree: OperatorTree) -> OperatorTree | Refusal:
        return planned(tree)

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        windows = frozenset(operator.id for operator in shedding(plan))
        return windows or Refusal("it coalesces and aggregates no window, so nothing can be shed")

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return CalsCore(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> list[Mapping[str, Tuning]]:
        """With a limit that is met, and one that every drop is looked at for; of samples it is the
        first."""
        names: tuple[ShedAlgorithm, ...] = ("cals", "cals-m")
        limits = [ShedOptions(name, 5, audit="exact") for name in names]
        shed = [operator.id for operator in shedding(plan)]
        return [dict.fromkeys(shed, ShedTuning(limit)) for limit in limits] if shed else []


CALS: Final[CoreKind] = CalsCores()
