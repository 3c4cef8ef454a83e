"""Knobs of the engine itself; each algorithm brings its own."""

from __future__ import annotations

from backend.adaptive.selection.knobs import SELECTION_KNOBS
from backend.model.knobs import KnobSpec

RATE = KnobSpec(
    name="rate",
    kind="float",
    default=0.0,
    unit="tuples/s",
    low=0.0,
    high=10_000_000.0,
    scale="log",
    help="Pace at which a replayed stream arrives; 0 replays as fast as possible.",
    entity="op:source",
)
AT_END = KnobSpec(
    name="at_end",
    kind="choice",
    default="stop",
    unit="",
    choices=("stop", "loop"),
    help="What a replayed stream does after its last tuple: end the run, or start over.",
    entity="op:source",
)

KNOBS: tuple[KnobSpec, ...] = (*SELECTION_KNOBS, RATE, AT_END)
