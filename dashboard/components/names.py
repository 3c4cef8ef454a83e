"""What people call properties, knobs and systems: words in place of the names of the record.

The name of the record stays at hand: on hover and on keyboard focus (modules/terms.js). A name
nobody listed is its own words, without the unit that its value shows anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs

NAMES: Final[Mapping[str, str]] = {
    "tuples_per_s": "Throughput",
    "visits_per_tuple": "Visits per tuple",
    "dropping_ratio": "Dropping ratio d",
    "batch_ms": "Batch time",
    "backlog_tuples": "Backlog",
    "n_tuples": "Tuples in the batch",
    "n_matched": "Matched in the batch",
    "n_answered": "Results in the batch",
    "answered_total": "Results so far",
    "profile_share": "Profiled",
    "misfits_total": "Misfits so far",
    "tuples_total": "Tuples so far",
    "matched_total": "Matched so far",
    "raised_total": "Exceptions so far",
    "decisions_total": "Evaluations so far",
    "commit_ms": "Recording",
    "reached_tuples": "Reached by",
    "survival_prob": "Alive after it",
    "drop_prob": "Drop probability",
    "size_tuples": "Waiting",
    "flow_tuples": "Handed over",
    "matched_tuples": "Matched",
    "n_sampled": "Profiled tuples",
    "sample_us_per_tuple": "Cost of profiling",
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
    "element_share": "Share of all joins' elements",
    "caching_elements_total": "Elements so far",
    "caching_spent_total": "Cost so far",
    "caching_plain_total": "Cost so far, without caches",
    "caching_best_total": "Cost so far, best in hindsight",
    "run_pool_bytes": "Pool of the run",
    "micro_ratio": "Share of micro-arrows ξ",
    "relative_cost": "Hybrid to macro cost ω",
    "cost_us": "Cost",
    "rank": "Drops per µs",
    "window_drop_prob": "Drop probability, alone",
    "profile_prob_used": "Profile probability used",
    "break_even_prob": "Break-even probability",
    "expected_cost_us": "Expected cost",
    "first_cost_us": "Cost of the first order",
    "order_gap": "Distance to the best",
    "mu": "Threshold μ",
    "lambda_tuples": "Re-computation period λ",
    "tau_tuples": "Monitoring period τ",
    "profile_prob": "Profile probability p",
    "alpha": "Thrashing avoidance α",
    "ordering": "Ordering",
    "filter_algorithm": "Ordering algorithm",
    "min_samples": "Least samples",
    "min_gain": "Least gain",
    "min_support": "Least support",
    "cooldown_tuples": "Cool-down",
    "trigger": "What triggers",
    "stop_rule": "When a tuple is done",
    "no_drop_visit_cost": "Price of a branch-free visit",
    "visit_costs": "Price of a visit",
    "hybrid_compare": "Micro-arrows against",
    "bitmap_memory": "Bitmap memory",
    "what_if": "Record for what-if",
    "rate": "Input rate",
    "at_end": "At the end of the input",
    "reject_sample_every": "Evaluations stored, every",
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
    "monitoring": "Measured on",
    "executor": "What runs a plan",
    "scheduler": "Scheduler",
    "queue_capacity": "Room in a queue",
    "state_limit_bytes": "Limit of state",
    "sharing": "Shared synopses",
    "implicit_istream": "Istream understood",
    "join_trees": "Trees of joins",
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
    "max_batch_tuples": "Largest batch",
    "intake": "Intake",
    "speed": "Speed of replay",
    "asc": "Attribute selection constructs",
    "agreedy": "Pipelined filters",
    "joins": "Joins with caches",
    "stream": "Network of operators",
}
_UNITS: Final = re.compile(r"_(tuples|us|ms|s|bytes|prob|total)$")

#: A name of the record that is given a value in a sentence.
_VALUED: Final = re.compile(r"\b[a-z][a-z0-9_]*(?= = )")


def words_of(name: str) -> str:
    """What people call a property, a knob, a system, or a part of one, 'asc.macro_sequence'."""
    if name in NAMES:
        return NAMES[name]
    system, _, part = name.partition(".")
    if part and system in NAMES:
        return f"{NAMES[system]}, {words_of(part).lower()}"
    plain = _UNITS.sub("", name).removeprefix("n_").replace("_", " ").strip() or name
    return plain[0].upper() + plain[1:]


def named(sentence: str) -> str:
    """A sentence of the record; what has a value in it, 'mu = 0.1', is called as people do."""
    return _VALUED.sub(lambda found: NAMES.get(found[0], found[0]), sentence)


def term(name: str, meaning: str = "") -> Component:
    """Those words, with the name of the record and its meaning on hover and focus."""
    data = attrs(data_raw=name, data_meaning=meaning)
    return html.Span(words_of(name), className="pw-term", tabIndex=0, **data)
