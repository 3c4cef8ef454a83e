"""The knobs of an operator network: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.adaptive import knobs as shared
from backend.model.knobs import Knobs, knob

JOIN_TREES: Final = ("mjoin", "binary")
IMPLICIT_ISTREAM: Final = ("unwindowed", "monotonic", "never")


@dataclass(frozen=True, slots=True)
class StreamKnobs(Knobs):
    """The knobs of a unit and their values in force."""

    queue_capacity: int = knob(
        0,
        low=0,
        high=100_000_000,
        unit="tuples",
        help="Elements a queue may hold before the operator that fills it waits. 0: without limit.",
    )
    state_limit_bytes: int = knob(
        0,
        low=0,
        high=1_000_000_000_000_000,
        scale="log",
        unit="bytes",
        help="What windows, joins and aggregates may keep, of all shards together. Beyond it new "
        "queries are refused and no further batch begins, until it is raised or a query goes: a "
        "run with --once waits for that, too. Nothing is dropped. 0: without limit.",
    )
    sharing: bool = knob(
        True,
        help="Windows and joins over the same tuples keep them once, in a store; each sees its "
        "own part of it. Results are the same.",
    )
    implicit_istream: str = knob(
        "unwindowed",
        choices=IMPLICIT_ISTREAM,
        help="Which queries written without Istream answer a stream all the same: unwindowed, "
        "those over streams without any window clause whose answer only grows; monotonic, all "
        "whose answer only grows; never, none.",
    )
    shards: int = knob(
        1,
        low=1,
        high=64,
        unit="shards",
        help="Parts the network runs in, side by side; operators that compare by a key are spread "
        "over them. Fixed for a run.",
    )
    join_trees: str = knob(
        "mjoin",
        choices=JOIN_TREES,
        help="How more than two inputs are joined: mjoin, by one operator that keeps the inputs "
        "alone; binary, by a binary join for each further input, which keeps what is joined so "
        "far. Fixed for a run. Results are the same.",
    )
    reject_sample_every: int = shared.reject_sample_every(1)
