"""Systems of operator networks: the frame of STREAM with one or more cores."""

from __future__ import annotations

from dataclasses import dataclass

from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings, KnobSpec
from backend.systems.contract import Claim, Refusal, SystemUnit, UnitJob
from backend.systems.cores import BringsOperators, CoreKind
from backend.systems.stream.compiling import compile_queries, operator_tree
from backend.systems.stream.knobs import StreamKnobs
from backend.systems.stream.unit import NetworkUnit
from backend.workloads.sysstream import SYS_STREAMS
from backend.workloads.ticks import DEFAULT_TICK_US
from storage.vocabulary.properties import Vocabulary, joined
from storage.vocabulary.stream import STREAM


@dataclass(frozen=True)
class NetworkSystem:
    """Runs queries that do more than select tuples of one stream, as one network. cores: in the
    order in which they decide. needs: the core that must have something to adapt, None: none."""

    name: str
    title: str
    cores: tuple[CoreKind, ...]
    needs: CoreKind | None = None

    leaves_when_empty = True

    @property
    def is_default(self) -> bool:
        return self.needs is None

    @property
    def vocabulary(self) -> Vocabulary:
        return joined((STREAM, *(core.vocabulary for core in self.cores)))

    @property
    def knobs(self) -> tuple[KnobSpec, ...]:
        return (*StreamKnobs.specs(), *(knob for core in self.cores for knob in core.knobs))

    def claim(self, query: ContinuousQuery) -> Claim | Refusal:
        if query.plan is None:
            return Refusal(
                f"query {query.name!r} selects tuples of one stream, "
                "and networks are for queries that do more"
            )
        recorded = next((name for name in query.reads if name in SYS_STREAMS), "")
        if recorded and len(query.reads) > 1:
            return Refusal(
                f"query {query.name!r} reads {recorded} beside other streams; it is published "
                "after their tuples were processed, so it is read alone"
            )
        refusal = self._lacks(query)
        return refusal or Claim(recorded.lower() or "network")

    def _lacks(self, query: ContinuousQuery) -> Refusal | None:
        """Why the core that a query is meant for has nothing to adapt in it."""
        if self.needs is None:
            return None
        if isinstance(self.needs, BringsOperators):
            adapted = self.needs.planned(operator_tree(query.plan, DEFAULT_TICK_US)[0])
            return adapted if isinstance(adapted, Refusal) else None
        plan = compile_queries([query], since={query.name: 0}, tick_us=DEFAULT_TICK_US)
        claimed = self.needs.claims(plan)
        return claimed if isinstance(claimed, Refusal) else None

    def unit(self, job: UnitJob, settings: KnobSettings) -> SystemUnit:
        return NetworkUnit(job, settings, self.cores)
