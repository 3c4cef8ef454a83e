"""The system of sampled streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.model.conditions import TRUE, ContinuousQuery
from backend.model.knobs import Knobs, KnobSettings, KnobSpec, knob
from backend.systems.contract import Claim, Refusal, System, SystemUnit, UnitJob
from storage.vocabulary.properties import Vocabulary
from tests.systems.toy.unit import SamplingUnit
from tests.systems.toy.vocabulary import SAMPLING


@dataclass(frozen=True, slots=True)
class SamplingKnobs(Knobs):
    """The one knob."""

    share: float = knob(
        1.0, low=0, high=1, unit="prob", help="Share of the tuples that pass, to begin with."
    )


class Sampling:
    """Runs all queries of a stream that ask for every tuple."""

    name = "sampling"
    title = "Sampling"
    leaves_when_empty = False
    is_default = True
    vocabulary: Vocabulary = SAMPLING
    knobs: tuple[KnobSpec, ...] = SamplingKnobs.specs()

    def claim(self, query: ContinuousQuery) -> Claim | Refusal:
        if query.condition != TRUE or query.filters or query.plan is not None:
            return Refusal(f"query {query.name!r} does not ask for every tuple, as samples do")
        return Claim(query.stream)

    def unit(self, job: UnitJob, settings: KnobSettings) -> SystemUnit:
        return SamplingUnit(job, settings)


TOY: Final[System] = Sampling()
