"""Small records for the store's tests."""

from __future__ import annotations

from dataclasses import replace

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


def decision(seq: int, after: int, verdict: str = "kept", unit: str = "") -> Decision:
    """A decision evaluated after batch ``after``."""
    words = ("asc", "rearrangement", verdict, "visits")
    return Decision(seq, after, *words, 0.3, ">=", 0.1, 9, 5, 0, "because", unit_id=unit)


def plan(version: int, first: int, unit: str = "") -> PlanVersion:
    """Plan ``version`` of a unit, in force from batch ``first`` on."""
    order = ("asc:a",)
    return PlanVersion(version, first, "early drop", order, {}, f"h{version}", "why", unit_id=unit)


def knob(name: str, value: float, version: int, first: int, scope: str = "") -> Knob:
    """A value of a knob, in force from batch ``first`` on."""
    first_value = Knob(name, "float", value, 0.1, "", "help", 0.0, 1.0, scope=scope)
    return replace(first_value, version=version, batch=first)


def begin(writer: EngineWriter, run_id: str = "r1") -> None:
    """Begin a run with nothing but the system."""
    writer.begin_run(new_run(run_id), (SYSTEM,))
