"""Why the record cannot tell what another value of a knob would have done, in one sentence each.

Such a turn has no preview, and its verdict compares the batches before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SAMPLING: Final = (
    "It decides which tuples are sampled, and others than those were never looked at."
)
_GAPS: Final = "The algorithm in force asks only some filters: its profile has gaps."
_NOTHING: Final = "No evaluation on record has what the rule decides on yet."
_WINDOW: Final = "With it other tuples would be in the window, and the record keeps only these."
_TRIED: Final = "Plans are built with it at some evaluations, in turn; none is on record yet."
_RECORD: Final = "It changes what is recorded, not what runs."
_PACE: Final = "It changes how tuples arrive: nothing that was decided on them tells what it does."
_STATE: Final = "What operators keep would be another, and the record has its size alone."
_SAME: Final = "Results and plans stay the same; what it takes shows only while it runs."

#: By name; of one that is not here GENERAL is said.
WHY: Final[Mapping[str, str]] = {
    "ordering": "Other orders are planned at some evaluations, worst and ticket never; what the "
    "best one costs is in the regret ledger.",
    "filter_algorithm": "Only algorithms that ask every filter leave a profile to decide again.",
    "alpha": _GAPS,
    "violation_rule": _GAPS,
    "confidence": _GAPS,
    "stage_tuples": _GAPS,
    "window_tuples": _GAPS,
    "window_s": _GAPS,
    "window_by": _GAPS,
    "cooldown_tuples": _NOTHING,
    "mu": _NOTHING,
    "trigger": _NOTHING,
    "min_gain": _NOTHING,
    "scheduler": "What waits is predicted where no path of operators hands over to another, and "
    "not for round_robin.",
    "join_order": "Planned anew are a-greedy, independent and optimal; the others see the profile "
    "in parts, or not at all.",
    "caching": "While caches are off none is priced.",
    "pool_bytes": "The Memory page previews it, along the bids of the caches: drag the pool there.",
    "run_pool_bytes": "The Memory page previews it, along the bids of the caches: drag the pool "
    "there.",
    "load": _PACE,
    "profile_prob": _SAMPLING,
    "boost_prob": _SAMPLING,
    "profile_policy": _SAMPLING,
    "join_profile_prob": _SAMPLING,
    "lambda_tuples": "The trigger would be evaluated at other moments, which are not on record.",
    "tau_tuples": _WINDOW,
    "min_samples": _NOTHING,
    "window_observations": _WINDOW,
    "stop_rule": _TRIED,
    "monitoring": "It decides which tuples the steps of an order are measured on.",
    "hybrid_compare": f"{_TRIED} It says nothing where no micro-arrows are decided.",
    "min_support": "Micro-arrows are decided on whole regions, which the record does not keep.",
    "visit_costs": f"{_TRIED} Visits have to be measured first.",
    "no_drop_visit_cost": _NOTHING,
    "native_cost_us": "This cost is assumed, not measured: the record cannot say which is right.",
    "race": "Nothing a race decides is run; it changes only what the Race shows.",
    "reject_sample_every": _RECORD,
    "what_if": _RECORD,
    "bitmap_memory": "It refuses queries that would need more; no plan depends on it.",
    "executor": "The same plan runs either way; how fast the other one is shows only when it runs.",
    "rate": _PACE,
    "speed": _PACE,
    "max_batch_tuples": _PACE,
    "intake": _PACE,
    "at_end": "It matters once, when the input is over.",
    "queue_capacity": "When operators wait for full queues is decided while they run.",
    "state_limit_bytes": "It holds queries and batches back beyond it; no plan depends on it.",
    "sharing": _STATE,
    "two_phase": _SAME,
    "implicit_istream": "It changes which results there are, not what they cost.",
    "shards": "It is fixed for a run.",
    "join_trees": "It is fixed for a run.",
    "candidates": "Caches that were no candidates were never profiled.",
    "interval_tuples": "Caches would be chosen at other moments, which are not on record.",
    "join_costs": "The record has costs in the unit in force alone.",
    "cache_ways": "Other keys would give way to each other; the record has the hits of these.",
    "bitmap_alpha": "It decides how well misses are estimated, from bits that are not kept.",
    "pinned_caches": "Whether it pays is known once it is used; its bid is on the Memory page.",
    "forbidden_caches": "What would take its place is decided once it is gone.",
}
GENERAL: Final = "The record does not keep what the rule behind this knob decides on."
VERDICT: Final = "batches before and after are compared"


def why_not(name: str) -> str:
    """The sentence of a knob."""
    return WHY.get(name, GENERAL)
