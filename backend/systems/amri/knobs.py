"""The knobs of eddies: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.adaptive import knobs as shared
from backend.model.knobs import Knobs, knob
from backend.systems.amri.routing import ROUTERS
from storage.vocabulary.planlog import AUTOPILOT, THRESHOLDS

ACCESS: Final = ("bitmap", "hash", "portfolio", "scan")
DIVISIONS: Final = ("by state", "shared")
ASSESSMENTS: Final = ("exact", "csria", "dia", "cdia")
SCHEDULES: Final = ("continuous", "periodic", "triggered", "hybrid", "off")
SELECTIONS: Final = ("accumulated", "window", "off")
MIGRATIONS: Final = ("partial", "all", "nothing")


@dataclass(frozen=True, slots=True)
class AmriKnobs(Knobs):
    """The knobs of the eddies of a unit and their values in force."""

    policy: str = shared.policy(
        THRESHOLDS,
        " It is asked about the indexes of each state, with access = bitmap or portfolio, "
        "bit_division = by state and assessment = exact; routes are up to the router.",
    )
    caution: float = shared.caution()
    router: str = knob(
        "cheapest",
        choices=tuple(ROUTERS),
        help="How the order is chosen in which an element joins the other states: cheapest, by the "
        "price of every order; greedy, next the state that lets least through; lottery, drawn by "
        "that; round_robin and random, for comparison; fixed, it stays.",
    )
    exploration: float = knob(
        0.02,
        low=0,
        high=0.5,
        unit="prob",
        help="Share of the elements that take another route, so that its fan-outs are known.",
    )
    route_hysteresis: float = knob(
        0.1,
        low=0,
        high=1,
        unit="prob",
        help="Share by which another route has to be cheaper before it is taken.",
    )
    access: str = knob(
        "bitmap",
        choices=ACCESS,
        help="How states are searched: bitmap, by one bit-address index; hash, by hash indexes on "
        "the most frequent access patterns; portfolio, by the mix of both that costs least; scan, "
        "tuple by tuple.",
    )
    index_bits: int = knob(
        12,
        low=0,
        high=64,
        unit="bits",
        help="Bits of a state's bit-address index, over all its attributes, B.",
    )
    bit_division: str = knob(
        "by state",
        choices=DIVISIONS,
        help="Whether each state has index_bits of its own, or the states of an eddy share as many "
        "as that makes: who gains more by its next bit than another loses by its last one has it.",
    )
    index_pool_bytes: int = knob(
        0,
        low=0,
        high=1 << 40,
        unit="bytes",
        scale="log",
        help="Memory of the indexes of an eddy, over all its states; 0 = no limit of its own.",
    )
    hash_indexes: int = knob(
        3,
        low=0,
        high=63,
        unit="indexes",
        help="Hash indexes of a state with access = hash, at most.",
    )
    hash_adapts: bool = knob(
        True,
        help="With access = hash: whether each assessment gives hash indexes to the patterns that "
        "are most frequent then; else those of the first one stay.",
    )
    partition_share: float = knob(
        0.25,
        low=0.01,
        high=1,
        unit="prob",
        scale="log",
        help="Share of a state's window that a partition has, |P|: tuples of consecutive arrival "
        "with one configuration; a window of time holds as many as were measured. All are filled "
        "anew when it is turned, and when a window holds twice as many tuples or half of them.",
    )
    assessment: str = shared.threshold(
        "exact",
        choices=ASSESSMENTS,
        help="How access patterns are counted: exact (SRIA and DIA are the same); csria drops rare "
        "ones; cdia folds them into patterns with an attribute less.",
    )
    epsilon: float = shared.threshold(
        0.01, low=1e-4, high=1, unit="prob", scale="log", help="What csria and cdia may err by, ε."
    )
    theta: float = shared.threshold(
        0.02,
        low=1e-4,
        high=1,
        unit="prob",
        scale="log",
        help="Share of the requests from which csria and cdia report a pattern, θ. Above ε.",
    )
    combine: str = shared.threshold(
        "highest",
        choices=("highest", "random"),
        help="Which pattern with an attribute less cdia folds a rare one into.",
    )
    fold_scope: str = shared.threshold(
        "all",
        choices=("all", "leaf"),
        help="Which rare patterns cdia folds: all, or those without a more specific one.",
    )
    tuning_schedule: str = shared.threshold(
        "hybrid",
        choices=SCHEDULES,
        help="When a state is assessed and its bits are chosen: continuous, always; periodic, in "
        "turns; triggered, the state whose requests changed most; hybrid, both; off, never.",
    )
    period_requests: int = shared.threshold(
        60_000,
        low=100,
        high=1_000_000_000,
        unit="requests",
        scale="log",
        help="Search requests, of all states, from one turn to the next.",
    )
    trigger_requests: int = shared.threshold(
        100_000,
        low=100,
        high=1_000_000_000,
        unit="requests",
        scale="log",
        help="Search requests, of all states, from one look for changed states to the next.",
    )
    selection: str = shared.threshold(
        "accumulated",
        choices=SELECTIONS,
        help="When other bits are adopted: accumulated, when what they would have saved since "
        "comes to twice what the change costs, and without waiting for the schedule in states "
        "whose searches since cost more than all before; window, when the last assessment says so; "
        "off, never.",
    )
    prior: float = knob(
        0.3,
        low=0,
        high=1,
        unit="prob",
        help="Weight of all patterns alike beside those that were counted, so that attributes that "
        "look unused keep some bits.",
    )
    min_gain: float = shared.threshold(
        0.1,
        low=0,
        high=1,
        unit="prob",
        help="Share of the cost in force that other bits have to save: less counts for nothing.",
    )
    migration: str = knob(
        "partial",
        choices=MIGRATIONS,
        help="Which partitions take on new bits: partial, those whose searches save more than it "
        "costs; all; nothing, only partitions that begin later.",
    )
    migration_us: int = knob(
        2000,
        low=0,
        high=10_000_000,
        unit="us",
        scale="log",
        help="Processor time for migration in a batch, in each shard.",
    )
    cost_model: str = knob(
        "refined",
        choices=("refined", "paper"),
        help="What a configuration is priced by: paper, Eq. 1; refined, also bucket visits and "
        "what searches are measured to compare.",
    )
    index_costs: str = knob(
        "counted",
        choices=("counted", "measured"),
        help="What reading a code and giving a tuple other bits cost: counted, 0.12 of a tuple "
        "compared, and attributes hashed, inserted and deleted, a unit each; measured, the time "
        "these took beside that of a unit of other work: decisions differ from run to run then.",
    )
    pinned_bits: str = knob(
        "",
        kind="text",
        help="Bits of states that stay as they are: 'S: 4 4 4; T: 6 0 6', by attribute.",
    )
    pinned_routes: str = knob(
        "",
        kind="text",
        help="Routes that stay whatever they cost, the input that elements come from first: "
        "'S > T > U; T > U > S'. A share of the elements still explores others.",
    )

    @property
    def priced_by(self) -> tuple[object, ...]:
        """Which access methods there are, and what they cost: others are of another log."""
        return self.access, self.index_bits, self.prior, self.cost_model, self.index_costs

    @property
    def is_piloted(self) -> bool:
        """Whether the autopilot decides on access methods of states; it divides no bits between
        them, and hash indexes alone are those of the most frequent patterns."""
        asked = self.access in ("bitmap", "portfolio"), self.bit_division, self.assessment
        return self.policy == AUTOPILOT and asked == (True, "by state", "exact")
