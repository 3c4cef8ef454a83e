"""What joins under k-constraints publish: constraints with their k, and what synopses hold."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

#: What is made of a constraint, in the numbers of ``k_state``: only watched; used to let tuples go;
#: not worth it, or forbidden; no k is known.
K_STATES: Final = ("watched", "used", "unused", "unknown")

KMON: Final = Vocabulary(
    roles=("constraint", "components"),
    matrices=("k distances", "k seen", "k ledger", "k kept"),
    properties={
        "k_state": Property("", ("monitor",), "0 watched, 1 used, 2 unused, 3 no k is known"),
        "k_used_tuples": Property(
            "tuples", ("monitor",), "k that tuples are let go by; none while it is not used"
        ),
        "k_estimate_tuples": Property(
            "tuples", ("monitor",), "k that the last observations say, whether it is used or not"
        ),
        "k_low_tuples": Property("tuples", ("monitor",), "lower end of its 95 % interval"),
        "k_high_tuples": Property("tuples", ("monitor",), "upper end of its 95 % interval"),
        "k_kept_tuples": Property(
            "tuples", ("monitor",), "largest distance that is surely noticed, k_e"
        ),
        "k_time_ticks": Property("ticks", ("monitor",), "k in use as a time, at the present rate"),
        "k_largest_tuples": Property(
            "tuples", ("monitor",), "largest distance observed in the batch"
        ),
        "k_observations": Property(
            "observations", ("monitor",), "distances observed in the batch that say something"
        ),
        "k_window_observations": Property(
            "observations", ("monitor",), "observations that the estimate is of"
        ),
        "k_violations": Property(
            "tuples", ("monitor",), "distances of the batch above the k in use", absent_is_zero=True
        ),
        "k_evicted_tuples": Property(
            "tuples", ("monitor",), "tuples that the constraint let go in the batch"
        ),
        "k_saved_tuples": Property(
            "tuples", ("monitor",), "tuples that would be in memory still without the constraint"
        ),
        "k_saved_bytes": Property("bytes", ("monitor",), "bytes that these would take"),
        "k_worth_bytes": Property(
            "bytes", ("monitor",), "bytes that it adds to what others in use save, as last weighed"
        ),
        "k_cost_bytes": Property(
            "bytes", ("monitor",), "bytes that its use takes or is worth, as last weighed"
        ),
        "k_lost_tuples": Property(
            "tuples",
            ("monitor",),
            "results that tuples let go would have been in, as a partner came after all, "
            "an upper estimate",
            absent_is_zero=True,
        ),
        "k_returned_tuples": Property(
            "tuples",
            ("monitor",),
            "tuples that lay aside and were needed after all",
            absent_is_zero=True,
        ),
        "yes_tuples": Property(
            "tuples", ("synopsis",), "tuples in Yes: each of their joins has a partner"
        ),
        "no_tuples": Property("tuples", ("synopsis",), "tuples in No: they can be in no result"),
        "unknown_tuples": Property(
            "tuples", ("synopsis",), "tuples in Unknown: a partner may come"
        ),
        "spilled_tuples": Property(
            "tuples", ("synopsis",), "tuples that lie aside, of which only keys are in memory"
        ),
        "plain_tuples": Property(
            "tuples",
            ("synopsis", "operator"),
            "tuples that a join without constraints would hold: in the window, past the filter",
        ),
        "held_tuples": Property(
            "tuples", ("operator",), "tuples that the join under k-constraints holds"
        ),
        "held_bytes": Property("bytes", ("operator",), "bytes of these, with keys of those aside"),
        "plain_bytes": Property(
            "bytes", ("operator",), "bytes that a join without constraints would take"
        ),
        "joined_results_total": Property(
            "tuples", ("operator",), "results of the join since the run began"
        ),
        "lost_results_total": Property(
            "tuples",
            ("operator",),
            "results lost since the run began because a k was too small, an upper estimate",
        ),
        "repeated_keys_total": Property(
            "tuples", ("operator",), "tuples kept aside because another one had their key"
        ),
        "monitor_share": Property(
            "prob", ("operator",), "share of the join's processor time that watching takes"
        ),
        "time_weight": Property(
            "prob",
            ("operator",),
            "what processor time counts against memory: less while the pool grants too little",
        ),
    },
)
