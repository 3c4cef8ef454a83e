"""What people call what windows that shed publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import CardMark, HeldMemory, KnobNeed, NodeKind
from dashboard.views.inspector import QUALITY, STORE
from dashboard.views.unreplayed import BRANCH, MARKET

WORDS: Final[Mapping[str, str]] = {
    "cals": "Shedding of windows",
    "resident_tuples": "Tuples in memory",
    "limited_tuples": "Memory in use, as tuples",
    "limit_tuples": "Limit in force",
    "shed_tuples": "Tuples shed",
    "shed_total": "Tuples shed so far",
    "sheddings_total": "Times shedding began",
    "shed_ends_total": "Times answers were whole again",
    "memory_ratio": "Share of the window in memory",
    "shed_share": "Share of the window shed",
    "kept_runs": "Coalesced tuples in memory",
    "tuples_bytes": "Bytes as tuples",
    "runs_bytes": "Bytes as runs",
    "audit_bytes": "Bytes of the audit",
    "inclusion_prob": "Probability that a tuple is kept",
    "expected_accuracy": "Expected accuracy",
    "measured_accuracy": "Measured accuracy",
    "whole_from_tick": "Whole again from tick",
    "whole_from_tuples": "Whole again with tuple",
    "accuracy_low": "Accuracy, at least",
    "accuracy_high": "Accuracy, at most",
    "value_similarity": "Value similarity",
    "interval_similarity": "Interval similarity",
    "audited_groups": "Values audited",
    "unchanged_coalesced": "Unchanged coalesced tuples",
    "lost_coalesced": "Lost coalesced tuples",
    "shortened_coalesced": "Shortened coalesced tuples",
    "split_coalesced": "Split coalesced tuples",
    "stray_coalesced": "Stray coalesced tuples",
    "extraneous_coalesced": "Extraneous coalesced tuples",
    "accuracy_remainder": "Accuracy: expected − measured",
    "remainder_low": "Expected less measured, at least",
    "remainder_high": "Expected less measured, at most",
    "shed_algorithm": "Shedding algorithm",
    "memory_tuples": "Memory of a window M",
    "state_form": "Form of the state",
    "state_pool_bytes": "Memory of windows",
    "shed_weight": "Weight of accuracy",
    "shed_objective": "Memory is divided for",
    "accuracy_price": "Price of accuracy",
    "accuracy_floor": "Accuracy to be held",
    "low_water": "Low water",
    "rho_basis": "Basis of interval losses ρ⁻",
    "delta_weight": "Weight of pieces δ⁺",
    "accuracy_metric": "Accuracy metric",
    "audit": "Audit",
    "audit_groups": "Groups for each audited one",
    "sample_prob": "Probability of a sample, at most",
}
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final = dict.fromkeys(
    (
        *("shed_algorithm", "memory_tuples", "low_water", "rho_basis", "delta_weight"),
        *("accuracy_metric", "audit", "audit_groups", "shed_weight", "accuracy_price"),
        *("accuracy_floor", "sample_prob", "shed_objective", "state_form"),
    ),
    BRANCH,
) | {"state_pool_bytes": MARKET}
NODES: Final[Mapping[str, NodeKind]] = {
    "shed": NodeKind("operator", "◔", "shedding window", about="a window under a limit"),
}
#: On the card of a window.
MARKS: Final[Mapping[str, CardMark]] = {"shed": CardMark("shed_share", "✂", "—", "pct")}
FOLLOWS: Final = ("shed_share",)
GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("expected_accuracy", "measured_accuracy", "accuracy_low", "accuracy_high"),
            *("value_similarity", "interval_similarity", "audited_groups"),
            *("unchanged_coalesced", "shortened_coalesced", "split_coalesced"),
            *("lost_coalesced", "stray_coalesced", "extraneous_coalesced"),
            *("accuracy_remainder", "remainder_low", "remainder_high"),
            *("whole_from_tick", "whole_from_tuples"),
        ),
        QUALITY,
    ),
    **dict.fromkeys(
        (
            *("resident_tuples", "shed_tuples", "shed_total", "memory_ratio", "shed_share"),
            *("limit_tuples", "limited_tuples", "inclusion_prob"),
            *("sheddings_total", "shed_ends_total"),
            *("kept_runs", "tuples_bytes", "runs_bytes", "audit_bytes"),
        ),
        STORE,
    ),
}
#: Turned most.
FIRST: Final = ("memory_tuples", "shed_algorithm", "state_form")
#: What holds memory without a bid for it.
HOLDS: Final = {"shed": HeldMemory("limited_tuples", "tuples", "memory_tuples")}
#: Without what knobs have no effect.
NEEDS: Final = {
    "audit_groups": KnobNeed("accuracy is not sampled", "audit", frozenset({"sampled"})),
}
