"""Why the record cannot tell what another value of a knob would have done, in one sentence each.

Such a turn has no preview, and its verdict compares the batches before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import told

SAMPLING: Final = "It changes which tuples are sampled; the others were never recorded."
BRANCH: Final = "A branch of the run decides again with it, on the recorded tuples."
NOTHING: Final = "No evaluation on record has what the rule decides on yet."
WINDOW: Final = "With it other tuples would be in the window, and the record keeps only these."
TRIED: Final = "Plans are built with it at some evaluations, in turn; none is on record yet."
RECORD: Final = "It changes what is recorded, not what runs."
PACE: Final = "It changes how tuples arrive: past decisions do not show its effect."
STATE: Final = "It changes what operators store, and only the size of that is recorded."
MARKET: Final = "The Memory page previews it, along all bids: drag the edge of the pool there."
FIXED: Final = "It is fixed for a run."
SAME: Final = "Results and plans stay the same; what it takes shows only while it runs."

#: Of knobs that no one system has; of one that nobody lists GENERAL is said.
WHY: Final[Mapping[str, str]] = {
    "cooldown_tuples": NOTHING,
    "policy": BRANCH,
    "caution": BRANCH,
    "profile_prob": SAMPLING,
    "min_samples": NOTHING,
    "reject_sample_every": RECORD,
    "run_pool_bytes": MARKET,
    "rate": PACE,
    "speed": PACE,
    "max_batch_tuples": PACE,
    "intake": PACE,
    "at_end": "It matters once, when the input is over.",
}
GENERAL: Final = "The record does not keep what the rule behind this knob decides on."
VERDICT: Final = "batches before and after are compared"


def why_not(name: str) -> str:
    """The sentence of a knob."""
    return WHY.get(name) or told("unreplayed").get(name, GENERAL)
