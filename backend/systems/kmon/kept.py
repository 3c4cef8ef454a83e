"""Why a tuple of a join under k-constraints is kept: what covers it, and what it waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from backend.adaptive.words import count
from backend.operators.network.kmon.kept import KeptJoin, KeptTuple
from backend.operators.network.kmon.tuning import UNKNOWN_K, ConstraintProfile
from backend.systems.kmon.candidates import ConstrainedJoin, ConstraintCandidate

_LEAVES: Final = "it stays until it leaves its window"


class KeptReason(NamedTuple):
    """Why a tuple is kept. constraint: key of the one that will let it go, '' = none is used;
    waited, goes_at: arrivals on the other side so far, and after which it goes, -1: not counted."""

    constraint: str
    waited: int
    goes_at: int
    words: str


class KeptReasons:
    """Of the tuples of a join at the end of a batch. used: constraints that let them go, by key."""

    def __init__(
        self,
        view: ConstrainedJoin,
        used: Collection[str],
        profiles: Mapping[str, ConstraintProfile],
    ) -> None:
        self._view, self._used, self._profiles = view, used, profiles

    def of(self, kept: KeptTuple) -> KeptReason:
        """Why a tuple is kept."""
        if kept.state == "spilled":
            words = "it lies on disk, its key in memory: should k be wrong, it comes back"
            return KeptReason("", UNKNOWN_K, UNKNOWN_K, f"{words}; {_LEAVES}")
        missing = [join for join in kept.joins if join.is_parent and not join.is_settled]
        if kept.state == "unknown" and missing:
            return self._waits(missing[0])
        coming = [join for join in kept.joins if not join.is_parent and not join.is_settled]
        if coming:
            return self._may_be_joined(kept, coming[0])
        return KeptReason("", UNKNOWN_K, UNKNOWN_K, self._settled(kept))

    def _settled(self, kept: KeptTuple) -> str:
        """Why a tuple is kept that waits for nothing itself."""
        if kept.state == "unknown":
            return f"its partner is there and waits for its own; {_LEAVES} at the latest"
        alone = [join for join in kept.joins if self._view.work.edges[join.edge].one_one]
        below = next((join for join in alone if not join.is_parent), None)
        if below is not None and not any(self._covering(below, waits=False)):
            parent = self._view.names[self._view.work.edges[below.edge].parent]
            words = f"its partner in {parent} has come, and no constraint in use lets it go then"
            return f"{words}: {_LEAVES}"
        return f"another tuple that waits may need it still; {_LEAVES} at the latest"

    def _waits(self, join: KeptJoin) -> KeptReason:
        """A parent whose child has not come."""
        edge = self._view.work.edges[join.edge]
        child = self._view.names[edge.child]
        return self._reason(join, f"its partner in {child} has not come yet", child, waits=True)

    def _may_be_joined(self, kept: KeptTuple, join: KeptJoin) -> KeptReason:
        """A child that parents may need."""
        edge = self._view.work.edges[join.edge]
        parent = self._view.names[edge.parent]
        words = f"a tuple of {parent} that joins it may come"
        if kept.state == "no":
            words = f"it is in no result, and refutes each tuple of {parent} that joins it"
        return self._reason(join, words, parent, waits=False)

    def _reason(self, join: KeptJoin, words: str, other: str, *, waits: bool) -> KeptReason:
        using = next(self._covering(join, waits=waits), None)
        if using is None:
            words = f"{words}, and no constraint in use says when none can: {_LEAVES}"
            return KeptReason("", join.waited, UNKNOWN_K, words)
        profile = self._profiles[using.key]
        is_counted = using.id.type == "RIDS" and join.waited >= 0 and profile.kept != UNKNOWN_K
        if not is_counted:
            words = f"{words}; {using.name} tells when none can any more (k {count(profile.k)})"
            return KeptReason(using.key, UNKNOWN_K, UNKNOWN_K, words)
        by = f"by {using.name} (k {count(profile.k)})"
        passed = f"{count(join.waited)} of {count(profile.kept)} arrivals of {other} have passed"
        end = f"{passed}, then it goes {by}"
        if join.waited >= profile.kept:
            passed = f"{count(join.waited)} arrivals of {other} have passed"
            end = f"{passed}, {count(profile.kept)} are enough: it goes at the next collection {by}"
        words = f"{words}; {end}"
        return KeptReason(using.key, join.waited, profile.kept, words)

    def _covering(self, join: KeptJoin, *, waits: bool) -> Iterator[ConstraintCandidate]:
        """The constraints in use by which a tuple goes for a join, those that count first."""
        edge = self._view.work.edges[join.edge]
        mine = edge.parent if waits else edge.child
        candidates = [
            candidate for key, candidate in self._view.candidates.items() if key in self._used
        ]
        for constraint in sorted(candidates, key=lambda candidate: candidate.id.type != "RIDS"):
            if join.edge in constraint.edges and constraint.input == mine:
                yield constraint
