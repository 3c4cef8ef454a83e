"""Knobs of replayed inputs, and every knob a workload may set; each system brings its own."""

from __future__ import annotations

from typing import Final

from backend.model.knobs import KnobSpec
from backend.systems.registry import SYSTEMS
from storage.vocabulary import records

RATE: Final = KnobSpec(
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
AT_END: Final = KnobSpec(
    name="at_end",
    kind="choice",
    default="stop",
    unit="",
    choices=("stop", "loop"),
    help="What a replayed stream does after its last tuple: end the run, or start over.",
    entity="source",
)
MAX_BATCH: Final = KnobSpec(
    name="max_batch_tuples",
    kind="int",
    default=0,
    unit="tuples",
    low=0,
    high=100_000_000,
    help="Most tuples of a replayed stream that wait, and so of one batch; 0: no limit. Not with "
    "--once beside a stream that Spark reads.",
    entity="source",
)
INTAKE: Final = KnobSpec(
    name=records.INTAKE,
    kind="choice",
    default="on",
    unit="",
    choices=("on", "paused", "removed"),
    help="Whether a replayed stream is read: paused, its tuples are passed over as they would come "
    "(without a rate it stops where it is) and others' time goes on without it; removed, the same, "
    "the run does not wait for it, and no query may read it.",
    entity="source",
)
SPEED: Final = KnobSpec(
    name="speed",
    kind="float",
    default=1.0,
    unit="",
    low=0.01,
    high=1000.0,
    scale="log",
    help="Factor on the rates of all replayed streams: 2 replays twice as fast. Streams without a "
    "rate come as fast as possible at any speed.",
)
RUN_POOL: Final = KnobSpec(
    name="run_pool_bytes",
    kind="int",
    default=0,
    unit="bytes",
    low=0,
    high=1 << 40,
    scale="log",
    help="Memory that all units of the run share, for the caches of joins and the like, all shards "
    "together: handed out in pages of 4096 bytes to those that make most of it for each tuple that "
    "comes. 0: without limit.",
    entity="pool",
)
#: The engine's own.
ENGINE_KNOBS: Final = (SPEED, RUN_POOL)
#: What every replayed input has.
INPUT_KNOBS: Final = (RATE, AT_END, MAX_BATCH, INTAKE)

#: Every knob a workload may set; systems may start one of the same name elsewhere.
KNOBS: Final[tuple[KnobSpec, ...]] = (
    *{spec.name: spec for system in reversed(SYSTEMS) for spec in system.knobs}.values(),
    *INPUT_KNOBS,
    *ENGINE_KNOBS,
)
