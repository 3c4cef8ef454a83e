"""Knobs most systems have, each with a default of its own."""

from __future__ import annotations

from typing import Any

from backend.model.knobs import knob
from storage.vocabulary.planlog import AUTOPILOT, THRESHOLDS


def threshold(default: float | str, *, help: str, **facts: Any) -> Any:
    """A knob of the algorithm that the autopilot does not ask; facts as of ``knob``."""
    help += " Turning it takes over from the autopilot."
    return knob(default, help=help, sets=("policy", THRESHOLDS), **facts)


def profile_prob(default: float) -> Any:
    """How much is sampled."""
    return knob(
        default,
        low=0,
        high=1,
        unit="prob",
        scale="log",
        entity="profile",
        help="Probability that a tuple is sampled for the profile window. The cost of watching "
        "grows with it.",
    )


def min_samples(default: int) -> Any:
    """The least evidence a decision takes."""
    return knob(
        default,
        low=1,
        high=1_000_000,
        unit="tuples",
        scale="log",
        help="A plan is never changed on fewer sampled tuples than this.",
    )


def cooldown_tuples(default: int) -> Any:
    """For how long a switch holds off the next one."""
    return threshold(
        default,
        low=0,
        high=100_000_000,
        unit="tuples",
        scale="log",
        help="After a switch, no further one for so many tuples. 0 allows one at every check.",
    )


def reject_sample_every(default: int) -> Any:
    """How many evaluations without consequence are stored."""
    return knob(
        default,
        low=1,
        high=1_000_000,
        unit="decisions",
        scale="log",
        help="Store every n-th evaluation that stayed below the threshold or was thin; all are "
        "counted.",
    )


def policy(default: str = AUTOPILOT, more: str = "") -> Any:
    """Who decides when a plan is changed. more: to be said of a system."""
    return knob(
        default,
        choices=(AUTOPILOT, THRESHOLDS),
        help="Who decides when the plan changes: autopilot, once what another plan surely saves, "
        "times how long it is expected to stay the best, is more than switching costs; thresholds, "
        "as in the papers, by the knobs of the algorithm. Turning a threshold, or giving it a "
        "value from the start, takes over from the autopilot." + more,
    )


def caution() -> Any:
    """The autopilot's one dial."""
    return knob(
        1.0,
        low=0,
        high=999,
        scale="log",
        help="False switches of the autopilot that are all right in 1 000 looks; 0 never switches.",
    )
