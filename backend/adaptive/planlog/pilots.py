"""Several autopilots of a unit, each with logs of a subject of its own. [B05] §7"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from backend.adaptive.planlog.recorded import LookRecord, subject_of
from backend.adaptive.planlog.records import PlanLogRefused
from backend.adaptive.planlog.steering import Steering
from storage.vocabulary.records import Event

#: Subject -> the autopilot that decides it.
Pilots: TypeAlias = Mapping[str, Steering]


def times(pilots: Pilots) -> dict[str, int]:
    """What each was told of so far, for a run that goes on: it is kept every batch."""
    return {subject: pilot.t for subject, pilot in pilots.items()}


def resume(pilots: Pilots, records: Sequence[LookRecord], known: Mapping[str, int]) -> list[Event]:
    """Each goes on from the looks on record of its subject. known: as of ``times``."""
    events = []
    for subject, pilot in pilots.items():
        events += pilot.resume(_of(records, subject), known.get(subject, 0))
    return events


def learn(pilots: Pilots, records: Sequence[LookRecord]) -> list[Event]:
    """Each begins with the log of its subject of another run, where there is one.

    Raises PlanLogRefused where there is none for any of them, and as ``Steering.learn``.
    """
    events = []
    for subject, pilot in pilots.items():
        events += pilot.learn(_of(records, subject))
    if records and not events:
        logs, own = (
            ", ".join(sorted(names)) or "none"
            for names in ({subject_of(record) or "autopilot" for record in records}, set(pilots))
        )
        raise PlanLogRefused(f"its logs are of {logs}; this unit's autopilots are of {own}")
    return events


def _of(records: Sequence[LookRecord], subject: str) -> list[LookRecord]:
    return [record for record in records if subject_of(record) == subject]
