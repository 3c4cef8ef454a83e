"""Small records for the store's tests."""

from __future__ import annotations

from storage.store import EngineWriter
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Decision,
    Entity,
    Input,
    Knob,
    PlanVersion,
    Run,
    Sample,
)

START = 1_700_000_000.0
SYSTEM = Entity("system", "system", "Planwatch")


def new_run(run_id: str = "r1", started_at: float = START) -> Run:
    """A run of another host, so that no process of this one is its engine."""
    stream = Input("Flights", [["a", "int"]])
    return Run(run_id, "flights", "starting", started_at, {}, 1, "h", "1.0", inputs=(stream,))


def batch(number: int | None, time: float | None = None, n_tuples: int = 10) -> Batch:
    """Batch ``number``, recorded a second after the one before."""
    moment = START + 1 + (number or 0) if time is None else time
    return Batch(number, moment, 5.0, n_tuples, 1, 0, {"u": 1})


def record(
    number: int | None, *samples: Sample, run_id: str = "r1", time: float | None = None
) -> BatchRecord:
    """A record of batch ``number`` with samples."""
    return BatchRecord(run_id, batch(number, time), samples=samples)


def decision(seq: int, after: int, verdict: str = "kept") -> Decision:
    """A decision evaluated after batch ``after``."""
    return Decision(
        seq, after, "asc", "rearrangement", verdict, "visits", 0.3, ">=", 0.1, 9, 5, 0, "because"
    )


def plan(version: int, first: int) -> PlanVersion:
    """Plan ``version``, in force from batch ``first`` on."""
    return PlanVersion(version, first, "early drop", ("asc:a",), {}, f"h{version}", "why")


def knob(name: str, value: float, version: int, first: int) -> Knob:
    """A value of a knob, in force from batch ``first`` on."""
    return Knob(name, "float", value, 0.1, "", "help", 0.0, 1.0, version=version, batch=first)


def begin(writer: EngineWriter, run_id: str = "r1") -> None:
    """Begin a run with nothing but the system."""
    writer.begin_run(new_run(run_id), (SYSTEM,))
