"""The system of adaptively ordered pipelined filters."""

from __future__ import annotations

from typing import Final

from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings, KnobSpec
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.unit import FilterUnit
from backend.systems.contract import Claim, Refusal, System, SystemUnit, UnitJob
from storage.vocabulary.agreedy import AGREEDY
from storage.vocabulary.properties import Vocabulary


class Agreedy:
    """Runs each query with filters that are worth ordering by itself."""

    name = "agreedy"
    title = "Pipelined filters"
    leaves_when_empty = True
    is_default = True
    vocabulary: Vocabulary = AGREEDY
    knobs: tuple[KnobSpec, ...] = AgreedyKnobs.specs()

    def claim(self, query: ContinuousQuery) -> Claim | Refusal:
        if query.plan is not None:
            return Refusal(
                f"query {query.name!r} does more than select tuples of one stream, "
                "and A-Greedy orders the filters of those that do no more"
            )
        if not query.filters:
            return Refusal(
                f"query {query.name!r} neither calls functions nor looks into a window, "
                "and A-Greedy orders queries that do"
            )
        return Claim(query.name)

    def unit(self, job: UnitJob, settings: KnobSettings) -> SystemUnit:
        return FilterUnit(job, settings)


SYSTEM: Final[System] = Agreedy()
