"""A run of a temporal query whose window sheds, written by hand as it is recorded.

Readings of two values, one behind the other. From BEGINS on the window is short of memory. In each
batch after that the last reading of a run of 70 goes; the run is shorter by it. At TURNED the limit
is lowered, and a whole run of 80 goes, too.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from typing import Any, Final

from storage.vocabulary import registry
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Decision,
    Entity,
    Input,
    InputBatch,
    Knob,
    Matrix,
    PlanVersion,
    Run,
    Sample,
    Unit,
)
from storage.writer import EngineWriter

RUN: Final = "cals"
UNIT: Final = Unit("u", "cals", "Shedding", ("H",), ("damp",))
WINDOW: Final = "shed:w"
N_TUPLES: Final = 60
#: Batches from which on tuples are shed, with which the limit is lowered, and lowered again.
BEGINS, TURNED, AGAIN = 3, 6, 10
#: Tuples that the window may keep, before and after these, and that it would hold.
LIMITS, WHOLE = (600, 500, 400), 1000
#: A run of 70 in each batch, and what is left of it; the run of 80 that goes.
RUN_US, LEFT_US = 60_000_000, 45_000_000
RECEIPT: Final = (
    *("start", "end", "run_start", "run_end", "left", "pieces"),
    *("delta", "rho", "predicted_loss"),
)


def entities() -> tuple[Entity, ...]:
    """All entities of the run."""
    facts = {"queries": ["damp"], "text": "[Range 8 Hours], coalesce on value"}
    return (
        Entity("system", "system", "System", role="system"),
        Entity("in:H", "operator", "H", {}, role="source"),
        Entity("q:H", "queue", "H", {}, role="queue"),
        Entity(WINDOW, "operator", "[Range 8 Hours]", facts, unit_id=UNIT.id, role="shed"),
        Entity("out", "operator", "Output", {}, unit_id=UNIT.id, role="output"),
        Entity("q:out", "queue", "results", {}, unit_id=UNIT.id, role="queue"),
        Entity("query", "query", "damp", {"text": "Select value", "state": "active"},
               query="damp", unit_id=UNIT.id, role="query"),
    )  # fmt: skip


@dataclass
class CalsRecording:
    """A run being written. ``write()`` adds the next batch. others: units beside the one here."""

    writer: EngineWriter
    started_at: float
    others: tuple[Unit, ...] = ()
    next_batch: int = 0
    total: int = 0

    def begin(self) -> None:
        """Write the run with its entities and its knobs."""
        place = (os.getpid(), socket.gethostname(), "0.1.0")
        inputs = (Input("H", [["value", "int"]]),)
        run = Run(RUN, "humidity", "starting", self.started_at, {}, *place, inputs=inputs)
        self.writer.begin_run(run, entities(), (_limit(LIMITS[0]), _ALGORITHM))

    def write(self) -> None:
        """The next batch."""
        b = self.next_batch
        self.next_batch += 1
        self.total += n_shed(b)
        record = BatchRecord(
            RUN,
            Batch(b, self.started_at + 2 + b, 120.0, N_TUPLES, 9, 0, {UNIT.id: 1}, str(b)),
            samples=tuple(_samples(b, self.total)),
            decisions=(_begins(),) if b == BEGINS else (),
            plans=(_plan(),) if b == 0 else (),
            matrices=_matrices(b) if b >= BEGINS else (),
            knobs=(_limit(limit_at(b), b, b),) if b in (TURNED, AGAIN) else (),
            units=(*self.others, UNIT),
            inputs=(InputBatch("H", N_TUPLES, 0),),
        )
        self.writer.write_batch(record)


_ALGORITHM: Final = Knob("shed_algorithm", "choice", "cals", "cals", "", "Which tuple goes.",
                         choices=("cals", "rand"), entity=WINDOW, scope=UNIT.id)  # fmt: skip


def _limit(value: int, version: int = 0, batch: int = -1) -> Knob:
    return Knob("memory_tuples", "int", value, 0, "tuples", "Tuples that a window may keep.", low=0,
                high=1e9, entity=WINDOW, scope=UNIT.id, version=version, batch=batch)  # fmt: skip


def limit_at(b: int) -> int:
    """In force at the end of a batch."""
    return LIMITS[(b >= TURNED) + (b >= AGAIN)]


def n_shed(b: int) -> int:
    """Tuples shed in a batch."""
    return 0 if b < BEGINS else 100 if b == TURNED else 20


def accuracy(b: int) -> float:
    """Measured at the end of a batch."""
    return max(0.5, 1.0 - 0.1 * max(0, b - BEGINS + 1))


def _samples(b: int, total: int) -> list[Sample]:
    whole = {
        "tuples_per_s": 60.0, "batch_ms": 120.0, "n_tuples": N_TUPLES, "n_matched": 9,
        "tuples_total": N_TUPLES * (b + 1),
    }  # fmt: skip
    limit = limit_at(b)
    kept = limit / WHOLE if b >= BEGINS else 1.0
    exact = accuracy(b)
    window = {
        "reached_tuples": N_TUPLES, "resident_tuples": limit if b >= BEGINS else 400,
        "shed_tuples": n_shed(b), "shed_total": total, "memory_ratio": kept,
        "shed_share": 1 - kept, "expected_accuracy": min(1.0, exact + 0.01),
        "measured_accuracy": exact, "accuracy_low": exact - 0.05 * (b >= BEGINS),
        "accuracy_high": min(1.0, exact + 0.05), "audited_groups": 12,
        "unchanged_coalesced": 40, "shortened_coalesced": 5, "split_coalesced": 0,
        "lost_coalesced": 3, "stray_coalesced": 1, "value_similarity": 0.9,
    }  # fmt: skip
    numbers: dict[str, dict[str, float]] = {
        "system": whole, WINDOW: window, "in:H": {"reached_tuples": N_TUPLES},
    }  # fmt: skip
    numbers |= {"q:H": {"flow_tuples": N_TUPLES}, "q:out": {"flow_tuples": 9}}
    return [
        Sample(entity, name, value, registry.KNOWN.properties[name].unit)
        for entity, own in numbers.items()
        for name, value in own.items()
    ]


def run_of(b: int) -> tuple[int, int]:
    """The run of 70 of a batch, microseconds."""
    start = 1_600_000_000_000_000 + 4 * b * RUN_US
    return start, start + RUN_US


def _matrices(b: int) -> tuple[Matrix, ...]:
    """Receipts of the batch; runs since shedding began."""
    start, end = run_of(b)
    receipts = [[start + LEFT_US, end, start, end, LEFT_US, 1, 0, 0.25, 0.01]]
    values, reasons = ["70"], ["limit"]
    gone = run_of(TURNED)[1] + 10_000_000, run_of(TURNED)[1] + 30_000_000
    if b == TURNED:
        receipts.append([*gone, *gone, 0, 0, 0, 1.0, 0.04])
        values, reasons = [*values, "80"], [*reasons, "turned"]
    runs: list[list[int | None]] = [
        [*run_of(n), run_of(n)[0], run_of(n)[0] + LEFT_US] for n in range(BEGINS, b + 1)
    ]
    runs.append([*run_of(0), *run_of(0)])
    of = ["70"] * len(runs)
    groups = {"70": [b - BEGINS + 1, 0.01 * (b - BEGINS + 1), len(runs)]}
    if b >= TURNED:
        runs.append([*gone, None, None])
        of, groups = [*of, "80"], {**groups, "80": [1, 0.04, 1]}
    numbers = [str(1000 + 10 * b + place) for place in range(len(receipts))]
    ends = ("start", "end", "kept_start", "kept_end")
    names = [str(place) for place in range(len(runs))]
    return (
        _matrix("shed receipts", numbers, RECEIPT, receipts, value=values, reason=reasons),
        _matrix("shed groups", list(groups), ("shed", "loss", "pieces"), list(groups.values())),
        _matrix("shed runs", names, ends, runs, value=of),
    )


def _matrix(kind: str, rows: Any, columns: Any, values: Any, **facts: Any) -> Matrix:
    return Matrix(
        f"{kind} of {WINDOW}", kind, tuple(rows), columns, values, "us", len(rows),
        row_stats=facts, unit_id=UNIT.id,
    )  # fmt: skip


def _begins() -> Decision:
    """Shedding begins."""
    return Decision(
        1, BEGINS, "cals", "shedding", "acted", "resident_tuples", 620.0, ">", 600.0, N_TUPLES,
        N_TUPLES, 0, "sheds cals: 620 tuples wanted", unit_id=UNIT.id,
    )  # fmt: skip


def _plan() -> PlanVersion:
    nodes = [
        {"id": "in:H", "role": "source", "name": "H"},
        {"id": WINDOW, "role": "shed", "name": "[Range 8 Hours]"},
        {"id": "out", "role": "output", "name": "Output"},
    ]
    edges = [
        {"source": "in:H", "target": WINDOW, "queue": "q:H"},
        {"source": WINDOW, "target": "out", "queue": "q:out"},
    ]
    graph = {"nodes": nodes, "edges": edges}
    return PlanVersion(1, 0, "network", (WINDOW,), graph, "h1", "first plan", unit_id=UNIT.id)


def record_cals(writer: EngineWriter, n_batches: int) -> CalsRecording:
    """Write a running run of n_batches, the last one now."""
    recording = CalsRecording(writer, time.time() - n_batches - 3)
    recording.begin()
    for _ in range(n_batches):
        recording.write()
    return recording
