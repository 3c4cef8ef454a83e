"""The system of attribute selection constructs."""

from __future__ import annotations

from typing import Final

from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings, KnobSpec
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.unit import SelectionUnit
from backend.systems.contract import Claim, Refusal, System, SystemUnit, UnitJob
from storage.vocabulary.asc import ASC
from storage.vocabulary.properties import Vocabulary


class Asc:
    """Runs all selections on one stream together."""

    name = "asc"
    title = "Attribute selection constructs"
    leaves_when_empty = False
    is_default = True
    vocabulary: Vocabulary = ASC
    knobs: tuple[KnobSpec, ...] = AscKnobs.specs()

    def claim(self, query: ContinuousQuery) -> Claim | Refusal:
        if query.plan is not None:
            return Refusal(
                f"query {query.name!r} does more than select tuples of one stream, "
                "and attribute selection constructs do no more"
            )
        if query.filters:
            return Refusal(
                f"query {query.name!r} calls functions or looks into a window, "
                "and attribute selection constructs compare attributes with constants only"
            )
        return Claim(query.stream)

    def unit(self, job: UnitJob, settings: KnobSettings) -> SystemUnit:
        return SelectionUnit(job, settings)


SYSTEM: Final[System] = Asc()
