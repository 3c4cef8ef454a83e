"""The queries of a network as they were registered, and the tick of their streams."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from backend.model.conditions import ContinuousQuery
from backend.systems.contract import Refused, UnitJob
from backend.workloads.sysstream import SYS_STREAMS
from backend.workloads.ticks import DEFAULT_TICK_US
from storage.vocabulary.names import answer_folder
from storage.vocabulary.records import Event


class RegisteredQuery(NamedTuple):
    """A query that runs. since: the batch it was registered at; its windows were empty then."""

    query: ContinuousQuery
    since: int

    @property
    def start(self) -> tuple[str, int]:
        """What makes it the same query as before."""
        return self.query.name, self.since

    @property
    def begins(self) -> Event:
        """It begins while the run goes on: its windows are empty, its answer is one of its own."""
        title = f"query {self.query.name} begins at batch {self.since}"
        folder = answer_folder(self.query.name, self.since)
        return Event("query", title, f"its windows are empty then; its answer is in {folder}")

    @property
    def meaning(self) -> str:
        """A digest of its plan, with the plans of the queries it reads."""
        return hashlib.sha256(repr(self.query.plan).encode()).hexdigest()


def tick_of(job: UnitJob) -> int:
    """Microseconds of a tick, which all streams share. Raises Refused where they differ."""
    if recorded := SYS_STREAMS.keys() & set(job.inputs):
        return job.times[recorded.pop()].tick_us
    timed = {name: time for name, time in job.times.items() if time.timestamp}
    ticks = {name: time.tick_us for name, time in timed.items() if name not in SYS_STREAMS}
    if len(set(ticks.values())) > 1:
        listed = ", ".join(f"{name} {us} us" for name, us in ticks.items())
        raise Refused(f"streams of one run have one tick, not several: {listed}")
    return next(iter(ticks.values()), DEFAULT_TICK_US)
