"""Knobs of the engine itself; each system brings its own."""

from __future__ import annotations

from typing import Final

from backend.model.knobs import KnobSpec
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.asc.knobs import AscKnobs

RATE = KnobSpec(
    name="rate",
    kind="float",
    default=0.0,
    unit="tuples/s",
    low=0.0,
    high=10_000_000.0,
    scale="log",
    help="Pace at which a replayed stream arrives; 0 replays as fast as possible.",
    entity="source",
)
AT_END = KnobSpec(
    name="at_end",
    kind="choice",
    default="stop",
    unit="",
    choices=("stop", "loop"),
    help="What a replayed stream does after its last tuple: end the run, or start over.",
    entity="source",
)

#: What a run of selection queries has, and one of pipelined filters.
SELECTION_RUN_KNOBS: Final[tuple[KnobSpec, ...]] = (*AscKnobs.specs(), RATE, AT_END)
FILTER_RUN_KNOBS: Final[tuple[KnobSpec, ...]] = (*AgreedyKnobs.specs(), RATE, AT_END)

#: Every knob a workload may set.
KNOBS: Final[tuple[KnobSpec, ...]] = tuple(
    {spec.name: spec for spec in (*FILTER_RUN_KNOBS, *SELECTION_RUN_KNOBS)}.values()
)
