"""When the share is halved: pure numbers in, a decision out."""

from __future__ import annotations

from typing import Final, NamedTuple

from backend.adaptive.core import Evaluations
from backend.adaptive.words import count, significant
from storage.vocabulary.records import Decision

#: More tuples than this in a batch are too many.
BOUND_TUPLES: Final = 200


class Adopt(NamedTuple):
    """Let another share pass from ``batch_id`` on."""

    share: float
    version: int
    batch_id: int
    reason: str
    decision: int | None = None


class Halving:
    """The share in force. version: of its plan; evaluations: those so far."""

    def __init__(self, share: float) -> None:
        self.share, self.version, self.evaluations = share, 0, Evaluations()

    def adopt(self, share: float, batch_id: int, reason: str, decision: int | None = None) -> Adopt:
        """Another share, or other queries."""
        self.share, self.version = share, self.version + 1
        return Adopt(share, self.version, batch_id, reason, decision)

    def ran(self, batch_id: int, n: int, n_passed: int, knobs: int) -> tuple[Decision | Adopt, ...]:
        """A batch of n tuples let n_passed pass under knob settings ``knobs``."""
        seq, before = self.evaluations.count(), self.share
        too_many = n_passed > BOUND_TUPLES
        said = f"{count(n_passed)} tuples passed, {count(BOUND_TUPLES)} may"
        after = before / 2 if too_many else before
        if too_many:
            said += f": the share goes from {significant(before)} to {significant(after)}"
        adopted = (self.adopt(after, batch_id + 1, said, seq),) if too_many else ()
        decision = Decision(
            seq=seq,
            batch=batch_id,
            algorithm="halving",
            kind="bound",
            verdict="switched" if too_many else "below_threshold",
            metric="passed_tuples",
            lhs=n_passed,
            relation=">",
            rhs=BOUND_TUPLES,
            n=n,
            n_sample=n_passed,
            knob_version=knobs,
            explanation=said,
            plan_version=self.version if too_many else None,
            detail={"share": after, "share_before": before},
        )
        return (decision, *adopted)
