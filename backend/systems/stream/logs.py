"""The plan logs of a network: of the evaluations of its cores, and of their autopilots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from backend.adaptive.core import Evaluations
from backend.adaptive.planlog import pilots
from backend.adaptive.planlog.logged import PlanLogger
from backend.systems.contract import UnitState
from backend.systems.cores import CoreNews, OperatorCore
from storage.vocabulary.planlog import LoggedEvaluation
from storage.vocabulary.records import Event, Json

#: Where the state of a run has what the looks on record do not.
LOGS: Final = "plan_logs"
PILOTS: Final = "pilots"


class NetworkLogs:
    """Of all cores. evaluations: their count, with the begins of their logs."""

    def __init__(self, cores: Sequence[OperatorCore], evaluations: Evaluations) -> None:
        self._cores, self._logger = cores, PlanLogger(evaluations.begins)

    @property
    def _pilots(self) -> pilots.Pilots:
        return {subject: own for core in self._cores for subject, own in core.pilots().items()}

    def learn(self, records: Sequence[Json]) -> list[Event]:
        """Begin with the looks of another run. Raises PlanLogRefused."""
        return pilots.learn(self._pilots, records)

    def passed(self, n_tuples: int) -> None:
        """A batch of input ran."""
        self._logger.passed(n_tuples)

    def logged(self, news: CoreNews, version: int) -> list[LoggedEvaluation]:
        """What a core came to after a batch under a version of the plan, beside its looks."""
        return self._logger.logged(news.ran, news.weighed, version)

    def facts(self) -> dict[str, Any]:
        """For a run that goes on, kept every batch."""
        return {LOGS: self._logger.state(), PILOTS: pilots.times(self._pilots)}

    def resume(self, state: UnitState) -> list[Event]:
        """Go on from what is on record, once the cores have taken up theirs."""
        events = self._logger.resume(state.looks, state.facts.get(LOGS, {}))
        return events + pilots.resume(self._pilots, state.looks, state.facts.get(PILOTS, {}))
