"""What adaptively ordered pipelined filters publish: costs, the profile, the race."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from storage.vocabulary.planlog import POLICY, THRESHOLDS
from storage.vocabulary.properties import Property, Vocabulary
from storage.vocabulary.records import Json

#: Knobs as Table 4.1 of [B05] has them.
AS_IN_THE_THESIS: Final[Mapping[str, Json]] = {
    POLICY: THRESHOLDS,
    "filter_algorithm": "a-greedy",
    "violation_rule": "alpha",
    "alpha": 0.9,
    "profile_policy": "fixed",
    "profile_prob": 0.01,
    "window_by": "tuples",
    "window_tuples": 1000,
    "cooldown_tuples": 0,
}

AGREEDY: Final = Vocabulary(
    roles=("filter", "race"),
    matrices=("view", "race"),
    # profile: in stores of before
    long_parts=frozenset({"plans", "profile"}),
    properties={
        "cost_us": Property(
            "us/tuple", ("operator",), "what each tuple adds to the time of a call of the filter"
        ),
        "call_us": Property(
            "us", ("operator",), "time of a call of the filter, besides its tuples; in any order"
        ),
        "rank": Property("1/us", ("operator",), "drops per microsecond: drop_prob / cost_us"),
        "window_drop_prob": Property(
            "prob",
            ("operator",),
            "share of all tuples the filter would drop, on the profile window",
        ),
        "raised_total": Property(
            "tuples", ("operator",), "tuples the filter raised an exception for since the run began"
        ),
        "window_passed_tuples": Property(
            "tuples",
            ("monitor",),
            "tuples no filter drops that were sampled with those of the window",
        ),
        "profile_prob_used": Property(
            "prob", ("monitor",), "probability the batch's tuples were sampled with"
        ),
        "share_tuples": Property(
            "prob", ("monitor",), "share of the time spent on filtering tuples"
        ),
        "share_profile": Property("prob", ("monitor",), "share spent on creating profile tuples"),
        "share_window": Property(
            "prob", ("monitor",), "share spent on upkeep of the profile window"
        ),
        "share_view": Property("prob", ("monitor",), "share spent on updating the matrix view"),
        "share_violations": Property(
            "prob", ("monitor",), "share spent on detecting and correcting violations"
        ),
        "break_even_prob": Property(
            "prob", ("monitor",), "profile probability at which adapting costs what it saves"
        ),
        "expected_cost_us": Property(
            "us/tuple", ("monitor",), "cost per tuple of the order in force, on the profile window"
        ),
        "first_cost_us": Property(
            "us/tuple", ("monitor",), "cost per tuple of the first order, on the profile window"
        ),
        "order_gap": Property(
            "", ("monitor",), "how much dearer the order is than the best on the window; 0.1 = 10 %"
        ),
        "race_cost_us": Property(
            "us",
            ("monitor",),
            "estimated cost of 2 000 tuples in the order of the racing algorithm",
        ),
        "race_sampled_tuples": Property(
            "tuples", ("monitor",), "profile tuples behind race_cost_us"
        ),
        "race_changes": Property(
            "orders", ("monitor",), "orders the algorithm went over to since the race began"
        ),
        "race_us": Property("us", ("monitor",), "time the race took at the batch"),
    },
)
