"""What a core knows of its plans, and a look of the autopilot at them. [B05] §7"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.autopilot import PilotLook, PilotVerdict
from backend.adaptive.planlog.records import LogJson, LogSchema
from storage.vocabulary.looks import LookFacts, look_decision, look_terms
from storage.vocabulary.records import Decision

#: Sampled tuples: rows of any dtype.
PilotSample = NDArray[Any]


class SteeredPlans(Protocol):
    """What a core knows of its plans. A sample is rows of tuples, float64[T] their costs."""

    @property
    def schema(self) -> LogSchema:
        """Names and units of ``statistics``, and the unit of ``prices``."""

    def statistics(self, sample: PilotSample) -> Sequence[float]:
        """S on a sample that is not empty."""

    def search(self, sample: PilotSample) -> Sequence[LogJson]:
        """Plans that may be the best on the sample."""

    def prices(self, plan: LogJson, sample: PilotSample) -> NDArray[np.float64]:
        """What each tuple costs under a plan."""

    def worst(self, old: LogJson, new: LogJson) -> float | None:
        """The most a tuple can cost more under another plan; None = not known."""


@runtime_checkable
class SwitchPrices(Protocol):
    """Plans that are not all put in force at one price."""

    def switching(self, old: LogJson, new: LogJson) -> float:
        """What replacing one by another costs, in the unit of ``prices``."""


@dataclass(frozen=True, slots=True)
class SteeredLook:
    """A look, and what it came to. present: the plan in force; rival: the other that came nearest
    to it, None: there is none. ran: tuples under the plan in force since the last look, and their
    cost. n_sample: sampled tuples. subject: of its log. In the record: known, the rival was in the
    log near these statistics; due, tuples to the next look, None where none is to be expected.
    """

    look: PilotLook
    verdict: PilotVerdict
    cost_unit: str
    present: LogJson
    rival: LogJson | None
    n_sample: int
    ran: tuple[int, float]
    record: dict[str, LogJson]
    subject: str = ""

    @property
    def plan(self) -> LogJson:
        """To run from now on."""
        return self.rival if self.verdict.is_switch else self.present

    def decision(self, facts: LookFacts) -> Decision:
        """As it goes on record."""
        forms = {self.look.plan: self.present, self.verdict.rival: self.rival}
        terms = look_terms(self.record, self.cost_unit, forms)
        return look_decision(self.record, terms, replace(facts, subject=self.subject))
