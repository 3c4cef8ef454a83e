"""The system of operator networks."""

from __future__ import annotations

from typing import Final

from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings, KnobSpec
from backend.systems.contract import Claim, Refusal, System, SystemUnit, UnitJob
from backend.systems.stream.knobs import StreamKnobs
from backend.systems.stream.unit import NetworkUnit
from backend.workloads.sysstream import SYSSTREAM
from storage.vocabulary.properties import Vocabulary
from storage.vocabulary.stream import STREAM


class StreamSystem:
    """Runs all queries that do more than select tuples of one stream, as one network."""

    name = "stream"
    title = "STREAM"
    leaves_when_empty = True
    exact = True
    vocabulary: Vocabulary = STREAM
    knobs: tuple[KnobSpec, ...] = StreamKnobs.specs()

    def claim(self, query: ContinuousQuery) -> Claim | Refusal:
        if query.plan is None:
            return Refusal(
                f"query {query.name!r} selects tuples of one stream, "
                "and networks are for queries that do more"
            )
        if SYSSTREAM not in query.reads:
            return Claim("network")
        if len(query.reads) > 1:
            return Refusal(
                f"query {query.name!r} reads {SYSSTREAM} beside other streams; it is told after "
                "their tuples were processed, so it is read alone"
            )
        return Claim("sysstream")

    def unit(self, job: UnitJob, settings: KnobSettings) -> SystemUnit:
        return NetworkUnit(job, settings)


SYSTEM: Final[System] = StreamSystem()
