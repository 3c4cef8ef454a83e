"""The knobs of joins under k-constraints: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backend.model.knobs import Knobs, knob

CONSTRAINTS: Final = ("off", "declared", "monitored")
LOSSES: Final = ("never", "budget")
ESTIMATORS: Final = ("censored", "literal")
CHOICES: Final = ("cost", "exhaustive", "threshold")


@dataclass(frozen=True, slots=True)
class KMonKnobs(Knobs):
    """The knobs of the joins of a unit and their values in force."""

    constraints: str = knob(
        "monitored",
        choices=CONSTRAINTS,
        help="Which k-constraints a join may use: monitored, all that its streams are seen to keep "
        "to, and those that are declared; declared, only these, which are checked; off, none.",
    )
    loss: str = knob(
        "never",
        choices=LOSSES,
        help="What becomes of tuples that k says are not needed: never, they lie aside and come "
        "back when k was wrong, so that answers are exact; budget, they are dropped, and a share "
        "of the results may be lost.",
    )
    loss_budget: float = knob(
        0.001,
        low=1e-6,
        high=1,
        unit="prob",
        scale="log",
        help="Share of the results that may be lost with loss = budget. For none, set loss to "
        "never.",
    )
    k_factor: float = knob(
        1.2,
        low=1,
        high=10,
        scale="log",
        help="How far beyond k an increase is surely noticed, c: tuples are watched until c times "
        "k, at least k and the slack.",
    )
    k_slack: int = knob(
        8,
        low=0,
        high=1_000_000,
        unit="tuples",
        scale="log",
        help="How far beyond k an increase is noticed at the least, in arrivals, so that a k of 0 "
        "can grow.",
    )
    sample_prob: float = knob(
        0.01,
        low=0,
        high=1,
        unit="prob",
        scale="log",
        help="Share of the tuples that are watched for longer than that, until they leave their "
        "window, p.",
    )
    window_arrivals: int = knob(
        1000,
        low=1,
        high=10_000_000,
        unit="observations",
        scale="log",
        help="Observations that an estimate of k is of, W. It has to exceed the true k.",
    )
    k_threshold: int = knob(
        -1,
        low=-1,
        high=1_000_000_000,
        unit="tuples",
        help="A constraint whose k is larger is not used. -1: any k will do.",
    )
    estimator: str = knob(
        "censored",
        choices=ESTIMATORS,
        help="How k is estimated: censored, tuples that wait count as what is known of them, and k "
        "is a quantile that keeps to the loss budget; literal, as in the text, the largest of the "
        "last W distances, and none at once when one is larger.",
    )
    gc_arrivals: int = knob(
        0,
        low=0,
        high=10_000_000,
        unit="tuples",
        scale="log",
        help="Arrivals from one collection of garbage to the next, g. 0: as the size of what is "
        "kept says. Results are the same.",
    )
    constraint_choice: str = knob(
        "cost",
        choices=CHOICES,
        help="Which constraints of known k are used: cost, those that save more than they cost, by "
        "a greedy search; exhaustive, the best set of up to 12, greedy beyond; threshold, all that "
        "k_threshold allows.",
    )
    pinned_constraints: str = knob(
        "",
        kind="text",
        help="Constraints that are used whatever they bring, by name, parted by semicolons.",
    )
    forbidden_constraints: str = knob(
        "",
        kind="text",
        help="Constraints that are not used, by name, parted by semicolons.",
    )
