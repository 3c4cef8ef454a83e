"""What people call what eddies and their indexes publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import HeldMemory, HeldPlan, KeptCost, KnobNeed, NodeKind
from dashboard.views.if_not import turned_to
from dashboard.views.inspector import COST, QUALITY, SPEED, STORE
from dashboard.views.unreplayed import BRANCH, MARKET

WORDS: Final[Mapping[str, str]] = {
    "amri": "Eddies with adaptive indexes",
    "search_requests": "Search requests",
    "compared_per_request": "Compared per request",
    "matched_per_request": "Matched per request",
    "wasted_comparisons": "Comparisons without a match",
    "buckets_per_request": "Buckets per request",
    "state_tuples": "Tuples in the state",
    "index_bytes": "Bytes of the index",
    "index_bits": "Index bits B",
    "hash_indexes_used": "Hash indexes",
    "partitions": "Partitions",
    "configurations_used": "Configurations in use",
    "migrated_tuples": "Bucketed anew",
    "migrating_share": "Partitions still to migrate",
    "assessed_requests": "Requests assessed",
    "assessment_entries": "Patterns in the assessment",
    "exploration_share": "Elements on other routes",
    "regret_spent": "Cost so far",
    "regret_fixed": "Cost of the best fixed bits",
    "regret_sequence": "Cost of the best sequence",
    "router": "Router",
    "exploration": "Exploration",
    "route_hysteresis": "Hysteresis of routes",
    "access": "Access to states",
    "hash_indexes": "Hash indexes per state",
    "hash_adapts": "Hash indexes follow requests",
    "bit_division": "Division of bits",
    "index_pool_bytes": "Memory of indexes",
    "partition_share": "Window in a partition |P|",
    "assessment": "Assessment of patterns",
    "epsilon": "Error of the assessment ε",
    "theta": "Reported from share θ",
    "combine": "Where rare patterns are folded",
    "fold_scope": "Which patterns are folded",
    "tuning_schedule": "Schedule of tuning",
    "period_requests": "Requests between turns",
    "trigger_requests": "Requests between looks",
    "selection": "Selection of bits",
    "prior": "Weight of all patterns alike",
    "min_gain": "Least gain of other bits",
    "migration": "Migration",
    "migration_us": "Time for migration per batch",
    "cost_model": "Cost model of bits",
    "index_costs": "Costs of migration",
    "pinned_bits": "Bits that stay",
    "pinned_routes": "Routes that stay",
}
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final = {"index_pool_bytes": MARKET} | dict.fromkeys(
    (
        *("router", "exploration", "route_hysteresis", "access", "index_bits", "hash_indexes"),
        *("partition_share", "assessment", "epsilon", "theta", "combine", "fold_scope"),
        *("tuning_schedule", "period_requests", "trigger_requests", "selection", "prior"),
        *(
            "bit_division",
            "min_gain",
            "migration",
            "migration_us",
            "cost_model",
            "index_costs",
            "pinned_bits",
            "pinned_routes",
            "hash_adapts",
        ),
    ),
    BRANCH,
)
#: Roles of nodes of a plan.
NODES: Final[Mapping[str, NodeKind]] = {
    "stem": NodeKind(
        "synopsis",
        "▥",
        "state",
        about="tuples of a window with an index by bits",
        cells=("attributes", "bits"),
    ),
    "bit index": NodeKind("synopsis", "⊞", "index by bits"),
}
GROUPS: Final[Mapping[str, str]] = {
    "search_requests": SPEED,
    **dict.fromkeys(("compared_per_request", "buckets_per_request", "wasted_comparisons"), COST),
    **dict.fromkeys(("regret_spent", "regret_fixed", "regret_sequence", "exploration_share"), COST),
    **dict.fromkeys(("migrated_tuples", "assessed_requests", "assessment_entries"), COST),
    "matched_per_request": QUALITY,
    **dict.fromkeys(("state_tuples", "index_bits", "hash_indexes_used", "partitions"), STORE),
    **dict.fromkeys(("configurations_used", "migrating_share"), STORE),
}
#: Turned most.
FIRST: Final = (
    "router",
    "access",
    "index_bits",
    "tuning_schedule",
    "selection",
    "migration",
    "policy",
)
#: What holds memory without a bid for it.
HOLDS: Final = {"stem": HeldMemory("state_tuples", "tuples")}
#: Routes stay by one knob, bits by another.
KEPT: Final = {
    "route": HeldPlan(turned_to("router", "fixed"), KeptCost("search_requests", "search requests")),
    "index bits": HeldPlan(
        turned_to("selection", "off"), KeptCost("wasted_comparisons", "comparisons in vain")
    ),
}
_FOLDED: Final = KnobNeed(
    "patterns are counted exactly", "assessment", frozenset({"csria", "cdia"})
)
_CDIA: Final = KnobNeed("no pattern is folded", "assessment", frozenset({"cdia"}))
_HASH: Final = KnobNeed("states are not searched by hash", "access", frozenset({"hash"}))
_PERIODIC: Final = KnobNeed(
    "states are not assessed in turns", "tuning_schedule", frozenset({"periodic", "hybrid"})
)
_TRIGGERED: Final = KnobNeed(
    "no change of requests is looked for", "tuning_schedule", frozenset({"triggered", "hybrid"})
)
#: Without what knobs have no effect.
NEEDS: Final = {
    **dict.fromkeys(("epsilon", "theta"), _FOLDED),
    **dict.fromkeys(("combine", "fold_scope"), _CDIA),
    **dict.fromkeys(("hash_indexes", "hash_adapts"), _HASH),
    "period_requests": _PERIODIC,
    "trigger_requests": _TRIGGERED,
}
