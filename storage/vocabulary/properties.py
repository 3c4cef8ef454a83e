"""The sample properties the engine may publish: one registry of unit, entity kinds and meaning."""

from __future__ import annotations

from typing import Final, NamedTuple

from storage.vocabulary.kinds import EntityKind


class Property(NamedTuple):
    """A property: its unit ('' = a plain number), the entity kinds that have it, its meaning.

    absent_is_zero: only written for batches where it is not 0.
    """

    unit: str
    kinds: tuple[EntityKind, ...]
    meaning: str
    absent_is_zero: bool = False


PROPERTIES: Final[dict[str, Property]] = {
    "tuples_per_s": Property(
        "tuples/s",
        ("system",),
        "tuples filtered per second since the batch before ended, waiting for input included",
    ),
    "batch_ms": Property("ms", ("system",), "duration of the batch, source to recorded"),
    "n_tuples": Property("tuples", ("system",), "tuples in the batch"),
    "n_matched": Property("tuples", ("system",), "tuples of the batch satisfying >= 1 query"),
    "dropping_ratio": Property(
        "prob",
        ("system",),
        "d: share of the tuples of the batch (of the unit) that satisfy no query",
    ),
    "visits_per_tuple": Property("visits/tuple", ("system",), "operators visited per tuple"),
    "d_window": Property("prob", ("system",), "d over the running lambda window"),
    "visits_window": Property(
        "visits/tuple", ("system",), "visits per tuple over the running lambda window"
    ),
    "d_init": Property("prob", ("system",), "baseline of d, set after a rearrangement"),
    "visits_init": Property(
        "visits/tuple", ("system",), "baseline of visits per tuple after the last rearrangement"
    ),
    "profile_share": Property("prob", ("system",), "share of the batch's tuples profiled"),
    "misfits_total": Property("tuples", ("system",), "tuples kept aside since the run began"),
    "tuples_total": Property("tuples", ("system",), "tuples filtered since the run began"),
    "matched_total": Property(
        "tuples", ("system", "query"), "tuples satisfying the query (any query) since the run began"
    ),
    "backlog_tuples": Property("tuples", ("system",), "tuples that arrived and wait for a batch"),
    "commit_ms": Property("ms", ("system",), "time the store took for the previous batch's record"),
    "decisions_total": Property(
        "decisions", ("system",), "trigger evaluations since the run began, stored or not"
    ),
    "regret_running": Property(
        "visits/tuple", ("system",), "cost of the plan in force, on the last stretch's sample"
    ),
    "regret_previous": Property(
        "visits/tuple", ("system",), "what the plan before the last switch would have cost there"
    ),
    "regret_best": Property(
        "visits/tuple", ("system",), "what the best fixed order in hindsight would have cost there"
    ),
    "regret_first": Property(
        "visits/tuple", ("system",), "what the order the run began with would have cost there"
    ),
    "regret_saved_total": Property(
        "visits", ("system",), "saved against the first order since the run began; negative: lost"
    ),
    "regret_saved_se": Property("visits", ("system",), "standard error of regret_saved_total"),
    "micro_ratio": Property(
        "prob", ("system",), "xi: micro-arrows among all arrows followed, under a hybrid plan"
    ),
    "relative_cost": Property(
        "", ("system",), "omega: cost of the hybrid plan over that of its macro order"
    ),
    "reached_tuples": Property("tuples", ("operator",), "tuples of the batch that visited it"),
    "survival_prob": Property(
        "prob", ("operator",), "share of the batch's tuples alive after it, in the running order"
    ),
    "drop_prob": Property("prob", ("operator",), "P(dropped given reached); selectivity is 1 - it"),
    "cost_us": Property(
        "us/tuple", ("operator",), "what the filter costs per tuple, robust median"
    ),
    "rank": Property("1/us", ("operator",), "drops per microsecond: drop_prob / cost_us"),
    "window_drop_prob": Property(
        "prob", ("operator",), "share of all tuples the filter would drop, on the profile window"
    ),
    "raised_total": Property(
        "tuples", ("operator",), "tuples the filter raised an exception for since the run began"
    ),
    "size_tuples": Property("tuples", ("queue",), "tuples waiting in it"),
    "flow_tuples": Property("tuples", ("queue",), "tuples handed over by it in the batch"),
    "matched_tuples": Property(
        "tuples",
        ("query",),
        "tuples of the batch that satisfy the query; of more than 500 queries those that match "
        "most, the others in turn",
        absent_is_zero=True,
    ),
    "n_sampled": Property("tuples", ("monitor",), "tuples profiled in the batch"),
    "window_tuples": Property("tuples", ("monitor",), "tuples in the profile window"),
    "sample_us_per_tuple": Property("us/tuple", ("monitor",), "cost of profiling one tuple"),
    "window_passed_tuples": Property(
        "tuples", ("monitor",), "tuples no filter drops that were sampled with those of the window"
    ),
    "profile_prob_used": Property(
        "prob", ("monitor",), "probability the batch's tuples were sampled with"
    ),
    "share_tuples": Property("prob", ("monitor",), "share of the time spent on filtering tuples"),
    "share_profile": Property("prob", ("monitor",), "share spent on creating profile tuples"),
    "share_window": Property("prob", ("monitor",), "share spent on upkeep of the profile window"),
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
    "race_sampled_tuples": Property("tuples", ("monitor",), "profile tuples behind race_cost_us"),
    "race_changes": Property(
        "orders", ("monitor",), "orders the algorithm went over to since the race began"
    ),
    "race_us": Property("us", ("monitor",), "time the race took at the batch"),
}

ABSENT_IS_ZERO: Final = frozenset(name for name, p in PROPERTIES.items() if p.absent_is_zero)
