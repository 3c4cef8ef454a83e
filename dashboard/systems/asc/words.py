"""What people call what selections publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import HeldPlan, KeptCost, KnobNeed, NodeKind, WatchedNumber, Watching
from dashboard.views.if_not import turned_to
from dashboard.views.inspector import COST
from dashboard.views.unreplayed import NOTHING, RECORD, TRIED, WINDOW

WORDS: Final[Mapping[str, str]] = {
    "d_window": "Dropping ratio, last λ",
    "visits_window": "Visits, last λ",
    "d_init": "Dropping ratio, baseline",
    "visits_init": "Visits, baseline",
    "regret_running": "Cost of this plan",
    "regret_previous": "Cost of the plan before",
    "regret_best": "Cost of the best order",
    "regret_first": "Cost of the first order",
    "regret_saved_total": "Saved so far",
    "regret_saved_se": "Standard error of that",
    "micro_ratio": "Share of micro-arrows ξ",
    "relative_cost": "Hybrid to macro cost ω",
    "mu": "Threshold μ",
    "lambda_tuples": "Re-computation period λ",
    "tau_tuples": "Monitoring period τ",
    "ordering": "Ordering",
    "min_gain": "Least gain",
    "min_support": "Least support",
    "trigger": "What triggers",
    "stop_rule": "When a tuple is done",
    "no_drop_visit_cost": "Price of a branch-free visit",
    "visit_costs": "Price of a visit",
    "hybrid_compare": "Micro-arrows against",
    "bitmap_memory": "Bitmap memory",
    "what_if": "Record for what-if",
    "monitoring": "Measured on",
    "asc": "Attribute selection constructs",
}
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final[Mapping[str, str]] = {
    "ordering": "Other orders are planned at some evaluations, worst and ticket never; what the "
    "best one costs is in the regret ledger.",
    "mu": NOTHING,
    "trigger": NOTHING,
    "min_gain": NOTHING,
    "lambda_tuples": "The trigger would be evaluated at other moments, which are not on record.",
    "tau_tuples": WINDOW,
    "stop_rule": TRIED,
    "monitoring": "It decides which tuples the steps of an order are measured on.",
    "hybrid_compare": f"{TRIED} It says nothing where no micro-arrows are decided.",
    "min_support": "Micro-arrows are decided on whole regions, which the record does not keep.",
    "visit_costs": f"{TRIED} Visits have to be measured first.",
    "no_drop_visit_cost": NOTHING,
    "what_if": RECORD,
    "bitmap_memory": "It refuses queries that would need more; no plan depends on it.",
}
#: What the costs of other values are, of knobs whose values evaluations plan anew.
CHOSEN: Final[Mapping[str, str]] = {
    "ordering": "visits",
    "stop_rule": "visits",
    "visit_costs": "cost of visits, as measured,",
    "hybrid_compare": "visits",
}
NODES: Final[Mapping[str, NodeKind]] = {"selection": NodeKind("step", "σ", "construct")}
GROUPS: Final = {"micro_ratio": COST, "relative_cost": COST}
#: Turned most.
FIRST: Final = (
    "mu",
    "policy",
    "ordering",
    "profile_prob",
    "bitmap_memory",
    "lambda_tuples",
    "tau_tuples",
    "cooldown_tuples",
)
WATCHING: Final = Watching(
    "mu",
    "lambda_tuples",
    "trigger",
    {
        "dropping_ratio": WatchedNumber("d_window", "d_init", "dropping ratio"),
        "visits_per_tuple": WatchedNumber("visits_window", "visits_init", "visits"),
    },
)
#: A branch holds the plan where nothing else is ever cheaper by enough.
_VISITS: Final = KeptCost("reached_tuples", "visits")
KEPT: Final = {
    "rearrangement": HeldPlan(turned_to("min_gain", 1.0), _VISITS),
    "initial order": HeldPlan(
        lambda decision, knobs: None,
        _VISITS,
        "It is the first order that was built on a sample; the one before was guessed.",
    ),
}
#: Without what knobs have no effect.
NEEDS: Final = dict.fromkeys(
    ("hybrid_compare", "min_support"),
    KnobNeed("no micro-arrows are decided", "ordering", frozenset({"hybrid"})),
)
