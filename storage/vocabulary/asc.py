"""What attribute selection constructs publish: baselines, regret, micro-arrows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from storage.vocabulary.planlog import POLICY, THRESHOLDS
from storage.vocabulary.properties import Property, Vocabulary
from storage.vocabulary.records import Json

#: Knobs as [L12] §5 has them; μ and λ are the reader's, their values are not published.
AS_IN_THE_PAPERS: Final[Mapping[str, Json]] = {
    POLICY: THRESHOLDS,
    "trigger": "dropping ratio",
    "monitoring": "by period",
    "stop_rule": "drop",
    "visit_costs": "equal",
    "no_drop_visit_cost": 1.0,
    "min_gain": 0.0,
}

ASC: Final = Vocabulary(
    roles=("selection",),
    matrices=("regions", "selectivity", "arrows"),
    long_parts=frozenset({"steps", "paths", "plans", "trials"}),
    staying_parts=frozenset({"trials"}),
    properties={
        "d_window": Property("prob", ("system",), "d over the running lambda window"),
        "visits_window": Property(
            "visits/tuple", ("system",), "visits per tuple over the running lambda window"
        ),
        "d_init": Property("prob", ("system",), "baseline of d, set after a rearrangement"),
        "visits_init": Property(
            "visits/tuple", ("system",), "baseline of visits per tuple after the last rearrangement"
        ),
        "regret_running": Property(
            "visits/tuple", ("system",), "cost of the plan in force, on the last stretch's sample"
        ),
        "regret_previous": Property(
            "visits/tuple",
            ("system",),
            "what the plan before the last switch would have cost there",
        ),
        "regret_best": Property(
            "visits/tuple",
            ("system",),
            "what the best fixed order in hindsight would have cost there",
        ),
        "regret_first": Property(
            "visits/tuple", ("system",), "what the order the run began with would have cost there"
        ),
        "regret_saved_total": Property(
            "visits",
            ("system",),
            "saved against the first order since the run began; negative: lost",
        ),
        "regret_saved_se": Property("visits", ("system",), "standard error of regret_saved_total"),
        "micro_ratio": Property(
            "prob", ("system",), "xi: micro-arrows among all arrows followed, under a hybrid plan"
        ),
        "relative_cost": Property(
            "", ("system",), "omega: cost of the hybrid plan over that of its macro order"
        ),
    },
)
