"""What a look of the autopilot is called on record, for cores and for those who read it."""

from __future__ import annotations

from typing import Final

#: Kind of such a decision.
LOOK: Final = "look"
#: Its metric: the left side of the inequality.
SURE_SAVING: Final = "sure saving × dwell"
#: Where its detail has what it takes to decide again.
RECORD: Final = "plan_log"
#: Looks of a log after which one keeps the state behind it.
KEEP_EVERY: Final = 256
#: What a look leaves out of its record where it is false, 0 or empty.
OMITTED: Final = frozenset({"plans", "replaced", "is_transient", "settling"})
#: The knob that says who decides, and its values.
POLICY: Final = "policy"
THRESHOLDS: Final = "thresholds"
AUTOPILOT: Final = "autopilot"
