"""The knobs of joins that keep less than all: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.model.knobs import Knobs, knob

OFF: Final = "off"
RETENTIONS: Final = (OFF, "universe", "rand", "oldest", "prob", "life")


@dataclass(frozen=True, slots=True)
class RetentionKnobs(Knobs):
    """The knobs of a unit and their values in force."""

    retention: str = knob(
        OFF,
        choices=RETENTIONS,
        help="Which tuples the windows of joins keep: off, all; where memory is short queries wait "
        "(state_limit_bytes). universe, those of some values of the attribute that most inputs "
        "have in common, so that results are there whole or not at all: a subset, whose number is "
        "scaled. The others keep other tuples, results are a subset as well: rand, each tuple with "
        "the same chance, their number is scaled without an interval; oldest, those that came "
        "last; prob, those of the values that the other inputs have most of; life, those with most "
        "of these times the time they have left. With the last three there is no estimate of all "
        "results. Windows [Range …] and [Rows n] of a stream keep less; other inputs are whole, as "
        "are windows that other queries read, too.",
    )
    retained_share: float = knob(
        1.0,
        low=0.001,
        high=1,
        scale="log",
        unit="prob",
        help="Share that is kept: with retention = universe of the values of the key, else of the "
        "tuples of each window. Less takes effect at once, more for tuples that come later.",
    )
    retained_bytes: int = knob(
        0,
        low=0,
        high=1 << 40,
        scale="log",
        unit="bytes",
        help="What the windows of each join may take, all shards together: beyond it less "
        "is kept from the next batch on, more again once there is room. 0: no limit.",
    )
    retained_queries: str = knob(
        "",
        kind="text",
        help="Queries whose joins keep less, by name, parted by semicolons; the others keep all. "
        "Empty: all queries.",
    )

    @property
    def names(self) -> frozenset[str]:
        """Of the queries that are named; none: all are meant."""
        return frozenset(filter(None, (name.strip() for name in self.retained_queries.split(";"))))
