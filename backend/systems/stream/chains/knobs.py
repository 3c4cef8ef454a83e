"""The knobs of scheduling: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.model.knobs import Knobs, knob

SCHEDULERS: Final = ("fifo", "round_robin", "greedy", "chain")


@dataclass(frozen=True, slots=True)
class ChainKnobs(Knobs):
    """How operators are scheduled, with the values in force."""

    scheduler: str = knob(
        "chain",
        choices=SCHEDULERS,
        help="Which operator runs next: fifo, the one with the oldest element; round_robin, in "
        "turn; greedy, the one that releases most memory per time; chain, by the steepest part of "
        "its path's progress chart. Results are the same.",
    )
    load: float = knob(
        0.9,
        low=0.1,
        high=10,
        scale="log",
        help="Share of the processor's time that the tuples of a batch take as they arrive, by "
        "event time. Above 1 queues grow until the end of the batch, which shows what the "
        "scheduler is for.",
    )
