"""The knobs of adaptive joins: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.adaptive import knobs as shared
from backend.model.knobs import Knobs, knob
from storage.vocabulary.planlog import AUTOPILOT, THRESHOLDS

JOIN_ORDERS: Final = (
    "a-greedy",
    "sweep",
    "independent",
    "local swaps",
    "optimal",
    "fixed",
    "joint",
)
CACHINGS: Final = ("exact", "greedy", "trees", "off")
JOIN_COSTS: Final = ("measured", "counted")


@dataclass(frozen=True, slots=True)
class JoinKnobs(Knobs):
    """The knobs of the joins of a unit and their values in force."""

    join_order: str = knob(
        "a-greedy",
        choices=JOIN_ORDERS,
        help="In which order an element of one of three or more inputs is joined with the others: "
        "a-greedy, first the one that most often has no partner for its cost, as profiled; sweep, "
        "the same, but one of the others is watched at a time; independent, without regard to what "
        "those before leave; local swaps, only neighbours change places; optimal, the best order "
        "for the profile; fixed, as it is; joint, orders and caches together, as a tree of joins, "
        "where a join has up to four inputs. Results are the same.",
    )
    policy: str = shared.policy(THRESHOLDS)
    caution: float = shared.caution()
    caching: str = knob(
        "exact",
        choices=CACHINGS,
        help="How the caches of a join are chosen: exact, the best set of candidates; greedy, the "
        "cheapest cover of its steps; trees, the recursion of the text, which shares nothing; off, "
        "none. Results are the same.",
    )
    candidates: int = knob(
        6,
        low=0,
        high=64,
        unit="caches",
        help="Caches that are considered where fewer come for free, m: what is missing are caches "
        "that other windows have to witness. 0: none of these.",
    )
    pool_bytes: int = knob(
        4_194_304,
        low=0,
        high=1 << 40,
        unit="bytes",
        scale="log",
        help="Memory of the caches of each join, all shards together, handed out in pages of 4096 "
        "bytes to those that make most of it.",
    )
    pinned_caches: str = knob(
        "",
        kind="text",
        help="Caches that are used whatever they bring, by name, parted by semicolons.",
    )
    forbidden_caches: str = knob(
        "",
        kind="text",
        help="Caches that are not used, by name, parted by semicolons.",
    )
    interval_tuples: int = knob(
        10_000,
        low=100,
        high=100_000_000,
        unit="tuples",
        scale="log",
        help="Tuples between a choice of caches and the next time candidates are profiled, I.",
    )
    window_observations: int = knob(
        10,
        low=1,
        high=1000,
        unit="observations",
        scale="log",
        help="Observations that a statistic of a join is the mean of, W; of a pipeline one is 10 "
        "profiled elements.",
    )
    join_profile_prob: float = knob(
        0.005,
        low=0,
        high=1,
        scale="log",
        unit="prob",
        help="Share of the elements of a join that are profiled: joined without caches, with the "
        "time of each step. While candidates are profiled slow inputs are taken more often.",
    )
    join_costs: str = knob(
        "measured",
        choices=JOIN_COSTS,
        help="What the costs of a join are: measured, nanoseconds on this machine; counted, index "
        "probes as in the text, the same on every machine.",
    )
    cache_ways: int = knob(
        4,
        low=1,
        high=16,
        unit="entries",
        help="Entries that share a set of a cache: 1, a new key takes the place of the other one "
        "there; more, of the one used longest ago.",
    )
    bitmap_alpha: int = knob(
        8,
        low=1,
        high=64,
        unit="bits",
        scale="log",
        help="Bits for each look-up of a run of blocks whose different keys are counted, for the "
        "miss probability of caches not in use.",
    )
    two_phase: bool = knob(
        False,
        help="Look for a partner in every window before results are made of any: worth it where "
        "most elements have none in one of them. Results are the same.",
    )

    @property
    def is_piloted(self) -> bool:
        """Whether the autopilot decides; orders that are to stay are not left to it."""
        return self.policy == AUTOPILOT and self.join_order != "fixed"
