"""What people call what pipelined filters publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import HeldPlan, KeptCost, KnobNeed, NodeKind
from dashboard.views.gain import Ratio, ratio_source
from dashboard.views.if_not import turned_to
from dashboard.views.inspector import COST, STORE
from dashboard.views.unreplayed import BRANCH, SAMPLING

WORDS: Final[Mapping[str, str]] = {
    "raised_total": "Exceptions so far",
    "cost_us": "Cost",
    "call_us": "Cost of a call",
    "rank": "Drops per µs",
    "window_drop_prob": "Drop probability, alone",
    "profile_prob_used": "Profile probability used",
    "break_even_prob": "Break-even probability",
    "expected_cost_us": "Expected cost",
    "first_cost_us": "Cost of the first order",
    "order_gap": "Distance to the best",
    "alpha": "Thrashing avoidance α",
    "filter_algorithm": "Ordering algorithm",
    "window_tuples": "Profile window",
    "window_s": "Profile window, age",
    "window_by": "Profile window bounded by",
    "native_cost_us": "Cost of a comparison",
    "boost_prob": "Boosted probability",
    "race": "Race in the shadow",
    "confidence": "Confidence of a violation",
    "violation_rule": "What is a violation",
    "stage_tuples": "Stage of sweep",
    "profile_policy": "Profiling after a change",
    "agreedy": "Pipelined filters",
}
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final[Mapping[str, str]] = {
    "filter_algorithm": BRANCH,
    "alpha": BRANCH,
    "violation_rule": BRANCH,
    "confidence": BRANCH,
    "stage_tuples": BRANCH,
    "window_tuples": BRANCH,
    "window_s": BRANCH,
    "window_by": BRANCH,
    "boost_prob": SAMPLING,
    "profile_policy": SAMPLING,
    "native_cost_us": "This cost is assumed, not measured: the record cannot say which is right.",
    "race": "Nothing a race decides is run; it changes only what the Race shows.",
}
#: Filters that compare attributes with constants stand beside those that call functions.
NODES: Final[Mapping[str, NodeKind]] = {
    "filter": NodeKind("step", "ƒ", "filter", cost="cost_us"),
    "native filter": NodeKind("step", "σ", "filter", cost="cost_us"),
}
_SHARES: Final = ("tuples", "profile", "window", "view", "violations")
GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("profile_prob_used", "order_gap", "break_even_prob"), COST),
    **{f"share_{name}": COST for name in _SHARES},
    **dict.fromkeys(("window_tuples", "window_passed_tuples"), STORE),
}
#: Turned most.
FIRST: Final = (
    "alpha",
    "policy",
    "filter_algorithm",
    "profile_prob",
    "violation_rule",
    "cooldown_tuples",
    "window_tuples",
)
FOLLOWS: Final = ("cost_us",)
HUSHED: Final = ("race_cost_us", "race_sampled_tuples", "race_changes", "race_us")
ORDER: Final = Ratio(
    "expected_cost_us",
    "first_cost_us",
    "This order saves",
    "This order loses",
    "This order costs what the first one would",
    "of the cost of the first order",
)
GAINS: Final = (ratio_source(ORDER),)
#: A branch holds the order; what it costs is told at the times of filters on record.
_TIME: Final = KeptCost("reached_tuples", "of filters", form="ms", scale=1e-3, weight="cost_us")
KEPT: Final = dict.fromkeys(
    (
        "greedy invariant",
        "sweep invariant",
        "independent invariant",
        "local swaps invariant",
        "cheapest order",
    ),
    HeldPlan(turned_to("filter_algorithm", "static"), _TIME),
)
_BY_AGE: Final = KnobNeed("the profile window is not by age", "window_by", frozenset({"seconds"}))
#: Without what knobs have no effect.
NEEDS: Final = {
    "stage_tuples": KnobNeed("no sweep is made", "filter_algorithm", frozenset({"sweep"})),
    "window_s": _BY_AGE,
    "window_tuples": KnobNeed(
        "the profile window is not by number", "window_by", frozenset({"tuples"})
    ),
    "boost_prob": KnobNeed(
        "profiling is fixed", "profile_policy", frozenset({"boost", "boost and flush"})
    ),
}
