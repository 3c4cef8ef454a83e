"""What became of a constraint that was taken up, given up, or got another k, in bytes held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from backend.operators.network.kmon.tuning import UNKNOWN_K, KChange
from storage.vocabulary.records import DecisionOutcome

#: Arrivals that a decision is followed for, in windows of W.
FOLLOWED: Final = 10


@dataclass(slots=True)
class Followed:
    """A decision on a constraint. before: bytes held when it was made; is_saving: the constraint is
    used since, so that what it saves is known. n: arrivals since; held, saved: bytes, summed over
    batches times their arrivals."""

    decision: int
    key: str
    before: float
    is_saving: bool
    n: int = 0
    held: float = 0.0
    saved: float = 0.0

    def take(self, n: int, held: float, saved: float) -> None:
        """A batch of so many arrivals; held, saved: bytes at its end."""
        self.n += n
        self.held += n * held
        self.saved += n * saved

    def outcome(self, batch: int) -> DecisionOutcome:
        """Bytes held, mean over arrivals, against those held without: with what the constraint
        saved, or, where it is not used, as they were before."""
        held = self.held / self.n
        without = held + self.saved / self.n if self.is_saving else self.before
        return DecisionOutcome(self.decision, batch, held, self.n, held, without, self.n)

    def to_json(self) -> list[Any]:
        """As JSON-typed data."""
        return [getattr(self, name) for name in self.__slots__]


class FollowedDecisions:
    """All that are followed, one for each constraint."""

    def __init__(self, known: Iterable[list[Any]] = ()) -> None:
        self._by_key = {
            followed.key: followed for followed in (Followed(*values) for values in known)
        }

    def begin(self, batch: int, followed: Followed) -> list[DecisionOutcome]:
        """Another decision on the constraint ends what is known of the one before."""
        before = self._by_key.pop(followed.key, None)
        self._by_key[followed.key] = followed
        return [before.outcome(batch)] if before is not None and before.n else []

    def take(
        self, batch: int, n: int, held: float, saved: dict[str, float], window: int
    ) -> list[DecisionOutcome]:
        """A batch of ``n`` arrivals ran. saved: bytes by constraint."""
        for followed in self._by_key.values():
            followed.take(n, held, saved.get(followed.key, 0.0))
        done = [followed for followed in self._by_key.values() if followed.n >= FOLLOWED * window]
        for followed in done:
            del self._by_key[followed.key]
        return [followed.outcome(batch) for followed in done]

    def to_json(self) -> list[list[Any]]:
        """As JSON-typed data."""
        return [followed.to_json() for followed in self._by_key.values()]


def adjustments(changes: Sequence[KChange]) -> list[KChange]:
    """Changes of a batch: those in which k only becomes another, side by side, as one."""
    adjusted: list[KChange] = []
    for change in changes:
        before = adjusted[-1] if adjusted else None
        if before is not None and UNKNOWN_K not in (before.before, before.after, change.after):
            largest = max(before.distance, change.distance)
            adjusted[-1] = change._replace(before=before.before, distance=largest)
        else:
            adjusted.append(change)
    return adjusted
