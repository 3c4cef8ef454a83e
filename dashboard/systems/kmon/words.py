"""What people call what joins under k-constraints publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import CardMark, HeldPlan, KeptCost, KnobNeed, NodeKind, SynopsisPart
from dashboard.views.if_not import by_names
from dashboard.views.inspector import COST, QUALITY, STORE
from dashboard.views.unreplayed import SAMPLING, WINDOW

WORDS: Final[Mapping[str, str]] = {
    "kmon": "Joins under k-constraints",
    "constraints": "Constraints",
    "loss": "What k lets go",
    "loss_budget": "Results that may be lost",
    "k_factor": "Factor c of what is noticed",
    "k_slack": "Slack of what is noticed",
    "sample_prob": "Kept beyond k to be observed p",
    "window_arrivals": "Distances of an estimate W",
    "k_threshold": "Largest k that is used",
    "estimator": "Estimator of k",
    "gc_arrivals": "Arrivals between collections g",
    "constraint_choice": "Choice of constraints",
    "pinned_constraints": "Constraints always used",
    "forbidden_constraints": "Constraints never used",
    "k_state": "State",
    "k_used_tuples": "Used k",
    "k_estimate_tuples": "Estimated k",
    "k_low_tuples": "Estimated k, 95 % from",
    "k_high_tuples": "Estimated k, 95 % to",
    "k_kept_tuples": "Noticed up to",
    "k_time_ticks": "Time of k",
    "k_largest_tuples": "Largest distance",
    "k_observations": "Distances in the batch",
    "k_window_observations": "Distances of the estimate",
    "k_violations": "Distances above k",
    "k_evicted_tuples": "Let go",
    "k_saved_tuples": "Saved",
    "k_saved_bytes": "Saved bytes",
    "k_worth_bytes": "Would save more",
    "k_cost_bytes": "Costs",
    "k_lost_tuples": "Lost, at most",
    "k_returned_tuples": "Returned from aside",
    "yes_tuples": "Yes",
    "no_tuples": "No",
    "unknown_tuples": "Unknown",
    "spilled_tuples": "Spilled",
    "plain_tuples": "Held without constraints",
    "held_tuples": "Held",
    "held_bytes": "Held bytes",
    "plain_bytes": "Bytes without constraints",
    "joined_results_total": "Results so far",
    "lost_results_total": "Results lost so far, at most",
    "repeated_keys_total": "Repeated keys so far",
    "monitor_share": "Share of watching",
    "time_weight": "Weight of time against memory",
}
_ARRIVALS: Final = "Tuples would be let go at other arrivals, which are not on record."
_KEPT: Final = "It changes what is still there to be observed; the record has what was seen."
_WHAT_IF: Final = "The Constraints page previews it constraint by constraint: drag k there."
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final[Mapping[str, str]] = {
    "constraints": "Constraints that are not watched leave no distances on record.",
    "loss": "What lies aside or is gone is the same; what differs is whether it comes back.",
    "loss_budget": _WHAT_IF,
    "k_factor": _KEPT,
    "k_slack": _KEPT,
    "sample_prob": SAMPLING,
    "window_arrivals": WINDOW,
    "k_threshold": _WHAT_IF,
    "estimator": "The other estimator sees distances in another order than bins keep.",
    "gc_arrivals": _ARRIVALS,
    "constraint_choice": "What a constraint saves is measured while it is used.",
    "pinned_constraints": "Whether it pays is known once it is used; drag its k on the "
    "Constraints page.",
    "forbidden_constraints": "What other constraints would let go in its place shows once it is "
    "gone.",
}
#: Roles of nodes of a plan.
NODES: Final[Mapping[str, NodeKind]] = {
    "components": NodeKind(
        "synopsis",
        "◧",
        "synopsis in parts",
        about="tuples that may still join: Yes, Unknown, No, and those aside",
        parts=(
            SynopsisPart("yes_tuples", "Yes", "ok"),
            SynopsisPart("unknown_tuples", "Unknown", "warning"),
            SynopsisPart("no_tuples", "No", "quiet"),
            SynopsisPart("spilled_tuples", "spilled", "aside"),
        ),
        whole="plain_tuples",
    ),
}
#: On the card of a join.
MARKS: Final[Mapping[str, CardMark]] = {"constraint": CardMark("k_used_tuples", "k", "∞")}
GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("yes_tuples", "no_tuples", "unknown_tuples", "spilled_tuples"), STORE),
    **dict.fromkeys(("plain_tuples", "held_tuples", "k_saved_tuples"), STORE),
    **dict.fromkeys(("k_violations", "k_lost_tuples", "k_returned_tuples"), QUALITY),
    **dict.fromkeys(("lost_results_total", "repeated_keys_total"), QUALITY),
    "monitor_share": COST,
}
#: Turned most.
FIRST: Final = ("constraints", "loss", "loss_budget", "constraint_choice")
#: Numbers of constraints that no card and no chart follows batch by batch.
HUSHED: Final = (
    *("k_low_tuples", "k_high_tuples", "k_kept_tuples", "k_time_ticks", "k_largest_tuples"),
    *("k_observations", "k_window_observations", "k_evicted_tuples", "k_saved_tuples"),
    *("k_lost_tuples", "k_returned_tuples", "k_worth_bytes", "k_cost_bytes"),
)
#: A constraint that came is forbidden, one that went is pinned.
KEPT: Final = {
    "constraint choice": HeldPlan(
        by_names("pinned_constraints", "forbidden_constraints"),
        KeptCost("held_bytes", "", form="bytes", is_level=True),
        "It took one constraint for another; a branch turns one knob, and two lists would have to "
        "change.",
    )
}
#: Without what knobs have no effect.
NEEDS: Final = {
    "loss_budget": KnobNeed("nothing may be lost", "loss", frozenset({"budget"})),
    "k_threshold": KnobNeed(
        "constraints are chosen by cost", "constraint_choice", frozenset({"threshold"})
    ),
}
