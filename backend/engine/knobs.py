"""Knobs of the engine itself; each algorithm brings its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from backend.model.knobs import KnobSpec
from backend.systems.agreedy.knobs import FILTER_KNOBS
from backend.systems.asc.knobs import SELECTION_KNOBS

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

EXECUTOR = KnobSpec(
    name="executor",
    kind="choice",
    default="kernels",
    unit="",
    choices=("kernels", "expressions"),
    help="What runs a plan: compiled kernels in Spark's Python workers, or native Spark "
    "expressions, where the plan is small enough for them.",
)

#: What a run of selection queries has.
SELECTION_RUN_KNOBS: Final[tuple[KnobSpec, ...]] = (*SELECTION_KNOBS, EXECUTOR, RATE, AT_END)

#: Knobs both kinds of runs have, and where they start for pipelined filters.
_SHARED: Final = {
    "profile_prob": 0.01,
    "min_samples": 100,
    "cooldown_tuples": 0,
    "reject_sample_every": 1,
}
#: What a run of pipelined filters has.
FILTER_RUN_KNOBS: Final[tuple[KnobSpec, ...]] = (
    *FILTER_KNOBS,
    *(replace(k, default=_SHARED[k.name]) for k in SELECTION_KNOBS if k.name in _SHARED),
    RATE,
    AT_END,
)

#: Every knob a workload may set.
KNOBS: Final[tuple[KnobSpec, ...]] = (*SELECTION_KNOBS, *FILTER_KNOBS, EXECUTOR, RATE, AT_END)
