"""What people call what operator networks publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import HeldPlan, KeptCost, NodeKind
from dashboard.views.inspector import COST, SPEED
from dashboard.views.unreplayed import FIXED, PACE, STATE

WORDS: Final[Mapping[str, str]] = {
    "in_per_s": "Taken in",
    "out_per_s": "Handed on",
    "scheduler": "Scheduler",
    "queue_capacity": "Room in a queue",
    "state_limit_bytes": "Limit of state",
    "sharing": "Shared synopses",
    "implicit_istream": "Istream understood",
    "join_trees": "Trees of joins",
    "stream": "Network of operators",
}
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final[Mapping[str, str]] = {
    "scheduler": "What waits is predicted where no path of operators hands over to another, and "
    "not for round_robin.",
    "load": PACE,
    "queue_capacity": "When operators wait for full queues is decided while they run.",
    "state_limit_bytes": "Beyond it queries and batches wait; no plan depends on it.",
    "sharing": STATE,
    "implicit_istream": "It changes which results there are, not what they cost.",
    "shards": FIXED,
    "join_trees": FIXED,
}
#: What the costs of other values are, of knobs whose values evaluations plan anew.
CHOSEN: Final[Mapping[str, str]] = {"scheduler": "waiting in queues"}
_POINTER: Final = "M3 4h11v11H3zM14 15l6 6M20 15v6h-6"
NODES: Final[Mapping[str, NodeKind]] = {
    "input": NodeKind("operator", "⇒", "input manager", about="puts tuples in order of time"),
    "select": NodeKind("operator", "σ", "selection", about="keeps what satisfies it"),
    "antijoin": NodeKind("operator", "▷", "antijoin", about="left tuples without a match"),
    "readings": NodeKind("operator", "◔", "readings", about="valid until the next of their key"),
    "coalesce": NodeKind("operator", "⊔", "coalescing", about="equal values without a gap as one"),
    "stub": NodeKind("synopsis", "▥", "stub", _POINTER, "an operator's view of a shared store"),
}
GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("pending_tuples", "queue_peak_tuples", "queue_mean_tuples"), SPEED),
    "time_share": COST,
}
#: Turned most.
FIRST: Final = ("scheduler",)
#: No knob holds chains.
KEPT: Final = {
    "chains": HeldPlan(
        lambda decision, knobs: None,
        KeptCost("queue_mean_tuples", "tuples", is_level=True),
        "Chains follow what operators are measured to let through, and no knob holds those of "
        "before. Turn the scheduler in Branch from here to compare whole policies.",
    )
}
