"""Records the tests of this folder are about: one small run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dashboard.base.context import Context, Moment
from storage.tables.rows import DecisionEntry, SeriesData, StoredEvent
from storage.vocabulary.kinds import RunState
from storage.vocabulary.records import Decision, Event, Input, PlanVersion, Run


def run(run_id: str = "r1", state: RunState = "running", started_at: float = 100.0) -> Run:
    """A run of the flights workload."""
    schema = [["delay", "int"], ["origin", "string"]]
    inputs = (Input("Flights", schema),)
    return Run(run_id, "flights", state, started_at, {}, 1, "host", "0.1", inputs=inputs)


class Runs:
    """A reader that knows runs and their newest batch only."""

    def __init__(self, *runs: Run, last: int | None = 40) -> None:
        self._runs, self._last = runs, last

    def runs(self) -> Sequence[Run]:
        """All runs."""
        return self._runs

    def run(self, run_id: str) -> Run | None:
        """The run of that id."""
        return next((found for found in self._runs if found.id == run_id), None)

    def last_batch(self, run_id: str) -> int | None:
        """The same for all runs."""
        return self._last


def context(
    state: RunState = "running", at: int | None = None, now: int | None = 40, frozen: bool = False
) -> Context:
    """A context of run r1."""
    batch = now if at is None else at
    return Context(Moment("r1", at, None, frozen), run(state=state), batch, now)


def plan(
    version: int = 1,
    batch: int = 0,
    order: tuple[str, ...] = ("delay", "origin"),
    kind: str = "early drop",
) -> PlanVersion:
    """A plan over the given attributes."""
    ids = tuple(f"asc:{name}" for name in order)
    flow = ("op:source", *ids, "op:output")
    names = {"op:source": "Flights", "op:output": "Output"}
    roles = {"op:source": "source", "op:output": "output"}
    nodes = [
        {"id": i, "role": roles.get(i, "selection"), "name": names.get(i, i[4:])} for i in flow
    ]
    queues = ("queue:source", *(f"queue:{name}" for name in order[1:]), "queue:output")
    edges = [
        {"source": a, "target": z, "queue": queue}
        for (a, z), queue in zip(pairwise(flow), queues, strict=True)
    ]
    return PlanVersion(
        version, batch, kind, ids, {"nodes": nodes, "edges": edges}, f"h{version}", "why", 7,
        recorded_at=50.0,
    )  # fmt: skip


def series(values: Sequence[float], entity: str = "system", name: str = "x") -> SeriesData:
    """A series over batches 0.., half a second apart."""
    batch = np.arange(len(values), dtype=np.int64)
    value = np.array(values, dtype=np.float64)
    time = np.array([100 + 0.5 * number for number in batch], dtype=np.float64)
    return SeriesData(
        entity, name, "", batch, time, value, value, value, np.ones_like(batch), False
    )


def decision(seq: int, batch: int, old: Any, new: Any, verdict: str = "switched") -> DecisionEntry:
    """A decision between two orders."""
    found = Decision(
        seq, batch, "asc.macro_sequence", "rearrange", verdict, "visits_per_tuple",
        0.3, ">=", 0.1, 500, 100, 0, "moved enough", old, new,
    )  # fmt: skip
    return DecisionEntry(found, 120.0, None)


def event(number: int, batch: int, kind: str) -> StoredEvent:
    """An event."""
    return StoredEvent(number, batch, 100.0 + batch, Event(kind, f"{kind} {number}"))
