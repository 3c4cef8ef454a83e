"""What people should know of a join under k-constraints, each thing once: what was declared of it
and is not so, and a k that lets nothing go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backend.adaptive.words import count
from backend.operators.network.kmon.tuning import UNKNOWN_K, ConstraintProfile, KMonProfile
from backend.systems.kmon.candidates import ConstrainedJoin, ConstraintCandidate
from backend.systems.kmon.evidence import Evidence
from storage.vocabulary.records import Event


class Remarks:
    """Of one join. made: what was said already, by what it is about."""

    def __init__(self, view: ConstrainedJoin, made: Mapping[str, str] | None = None) -> None:
        self._view, self._made = view, dict(made or {})

    def of(
        self, profile: KMonProfile, seen: Evidence, used: frozenset[str], unmet: tuple[str, ...]
    ) -> Iterator[Event]:
        """What a batch gives reason to say. unmet: what was declared and is about no attribute it
        joins, in words."""
        if unmet:
            words = "of the streams, but the query does not join these attributes"
            yield from self._once("declared", "declared in vain", f"{', '.join(unmet)}: {words}")
        if profile.n_repeated:
            yield from self._once("key", "a key is none", _repeated(profile))
        for key, candidate in self._view.candidates.items():
            of_it = profile.constraints.get(candidate.id)
            if key in used and of_it is not None and self._is_beyond(candidate, of_it, seen):
                yield from self._once(key, "k is beyond the window", self._beyond(candidate, of_it))

    def _once(self, about: str, title: str, words: str) -> Iterator[Event]:
        if about not in self._made:
            self._made[about] = title
            yield Event("run", title, words, severity="warning")

    def _is_beyond(
        self, candidate: ConstraintCandidate, profile: ConstraintProfile, seen: Evidence
    ) -> bool:
        """Whether a tuple leaves its window before k arrivals have passed."""
        window = self._view.work.inputs[candidate.input]
        if profile.k == UNKNOWN_K or window.window not in ("range", "rows"):
            return False
        if window.window == "range":
            return profile.ticks >= window.size
        edge = self._view.work.edges[candidate.edges[0]]
        other = edge.child if candidate.input == edge.parent else edge.parent
        return profile.k * seen.rate(candidate.input, other) >= window.size

    def _beyond(self, candidate: ConstraintCandidate, profile: ConstraintProfile) -> str:
        window, name = self._view.work.inputs[candidate.input], self._view.names[candidate.input]
        unit = "ticks" if window.window == "range" else "tuples"
        words = f"{candidate.name}: k {count(profile.k)} takes no less time than a tuple of {name}"
        return f"{words} is in its window of {count(window.size)} {unit}; it lets nothing go"

    def to_json(self) -> dict[str, str]:
        """As JSON-typed data."""
        return dict(self._made)


def _repeated(profile: KMonProfile) -> str:
    """Tuples whose key another one has."""
    some = ", ".join(profile.repeated[:3])
    n = f"{count(profile.n_repeated)} tuple{'' if profile.n_repeated == 1 else 's'}"
    words = f"{n} came with the key of another one that is there ({some})"
    return f"{words}; kept aside, in no result. Declare a key that no two tuples share"
