"""What people call what joins publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import HeldPlan, KeptCost, KnobNeed
from dashboard.views.gain import Ratio, ratio_source
from dashboard.views.if_not import by_names, turned_to
from dashboard.views.saved import RECENT
from dashboard.views.unreplayed import MARKET, SAME, SAMPLING, WINDOW

WORDS: Final[Mapping[str, str]] = {
    "element_share": "Share of all joins' elements",
    "caching_elements_total": "Elements so far",
    "caching_spent_total": "Cost so far",
    "caching_plain_total": "Cost so far, without caches",
    "caching_best_total": "Cost so far, best in hindsight",
    "join_order": "Order of a join",
    "caching": "Choice of caches",
    "candidates": "Witnessed candidates m",
    "pool_bytes": "Pool of a join's caches",
    "pinned_caches": "Caches always used",
    "forbidden_caches": "Caches never used",
    "interval_tuples": "Re-optimization interval I",
    "window_observations": "Window of statistics W",
    "join_profile_prob": "Profile probability of joins p",
    "join_costs": "Costs of joins",
    "cache_ways": "Entries that share a set",
    "bitmap_alpha": "Bits for a look-up α",
    "two_phase": "Look before joining",
    "joins": "Joins with caches",
}
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final[Mapping[str, str]] = {
    "join_order": "Planned anew are a-greedy, independent and optimal; the others see the profile "
    "in parts, or not at all.",
    "caching": "While caches are off none is priced.",
    "pool_bytes": MARKET,
    "join_profile_prob": SAMPLING,
    "window_observations": WINDOW,
    "two_phase": SAME,
    "candidates": "Caches that were no candidates were never profiled.",
    "interval_tuples": "Caches would be chosen at other moments, which are not on record.",
    "join_costs": "The record has costs in the unit in force alone.",
    "cache_ways": "Other keys would give way to each other; the record has the hits of these.",
    "bitmap_alpha": "It decides how well misses are estimated, from bits that are not kept.",
    "pinned_caches": "Whether it pays is known once it is used; its bid is on the Memory page.",
    "forbidden_caches": "What would take its place is decided once it is gone.",
}
#: What the costs of other values are, of knobs whose values evaluations plan anew.
CHOSEN: Final[Mapping[str, str]] = {
    "join_order": "looking for partners",
    "caching": "cost of the join",
}
#: Turned most.
FIRST: Final = ("scheduler", "join_order", "caching", "pool_bytes", "policy")
CACHES: Final = Ratio(
    "cached_cost",
    "plain_cost",
    "Caches save",
    "Caches lose",
    "No cache pays for itself here",
    "of what the join would cost without them",
    RECENT,
)
GAINS: Final = (ratio_source(CACHES),)
_PROBES: Final = KeptCost("probes", "look-ups")
_CACHES: Final = HeldPlan(
    by_names("pinned_caches", "forbidden_caches"),
    _PROBES,
    "It took one cache for another; a branch turns one knob, and two lists would have to change.",
)
#: Orders stay by a knob; a cache that came is forbidden, one that went is pinned.
KEPT: Final = {
    **dict.fromkeys(
        ("probe order", "join tree"), HeldPlan(turned_to("join_order", "fixed"), _PROBES)
    ),
    **dict.fromkeys(("cache selection", "cache monitor"), _CACHES),
}
_NO_JOIN: Final = KnobNeed("no join has three inputs", property="pipeline_cost")
_NO_PIPELINE: Final = _NO_JOIN._replace(beside="join_order")
_NO_CACHE: Final = KnobNeed("no join has a candidate for a cache", property="cache_state")
#: Without what knobs have no effect.
NEEDS: Final = {
    "policy": _NO_PIPELINE,
    "caution": _NO_PIPELINE._replace(
        why="the autopilot decides nothing", knob="policy", values=frozenset({"autopilot"})
    ),
    **dict.fromkeys(
        (
            "join_order",
            "caching",
            "candidates",
            "join_profile_prob",
            "join_costs",
            "window_observations",
            "two_phase",
        ),
        _NO_JOIN,
    ),
    **dict.fromkeys(
        (
            "pool_bytes",
            "pinned_caches",
            "forbidden_caches",
            "interval_tuples",
            "cache_ways",
            "bitmap_alpha",
        ),
        _NO_CACHE,
    ),
}
