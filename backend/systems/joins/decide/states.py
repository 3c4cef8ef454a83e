"""The life of a candidate: profiled, used or unused. [B05] §5.5.5, card 10.4"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from backend.systems.joins.decide.candidates import CacheCandidate

CacheState: TypeAlias = Literal["profiled", "used", "unused"]
#: Why a candidate changes its state, or comes and goes.
Cause: TypeAlias = Literal[
    "new", "selected", "not selected", "re-optimization", "benefit below cost", "removed"
]

#: What may follow from what; None: no candidate.
_NEXT: Final[Mapping[tuple[CacheState | None, Cause], CacheState | None]] = {
    (None, "new"): "profiled",
    ("profiled", "selected"): "used",
    ("profiled", "not selected"): "unused",
    ("unused", "re-optimization"): "profiled",
    ("used", "re-optimization"): "profiled",
    ("used", "benefit below cost"): "unused",
    ("profiled", "removed"): None,
    ("used", "removed"): None,
    ("unused", "removed"): None,
}


class Transition(NamedTuple):
    """One step of a candidate. None: it was not there, or is no more."""

    cache: str
    before: CacheState | None
    cause: Cause
    after: CacheState | None


class CacheStates:
    """The states of all candidates, by id, in the order they came."""

    def __init__(self, states: Mapping[str, CacheState] | None = None) -> None:
        self._states: dict[str, CacheState] = dict(states or {})

    def __getitem__(self, cache: str) -> CacheState:
        return self._states[cache]

    def __contains__(self, cache: str) -> bool:
        return cache in self._states

    def all(self) -> dict[str, CacheState]:
        """By id."""
        return dict(self._states)

    def which(self, state: CacheState) -> tuple[str, ...]:
        """The candidates in a state."""
        return tuple(cache for cache, now in self._states.items() if now == state)

    def step(self, cache: str, cause: Cause) -> Transition:
        """Raises ValueError: from its state there is no such step."""
        before = self._states.get(cache)
        if (before, cause) not in _NEXT:
            allowed = ", ".join(repr(why) for state, why in _NEXT if state == before)
            raise ValueError(
                f"cache {cache} is {before or 'no candidate'}: {cause!r} leads nowhere; "
                f"allowed: {allowed}"
            )
        after = _NEXT[before, cause]
        if after is None:
            del self._states[cache]
        else:
            self._states[cache] = after
        return Transition(cache, before, cause, after)

    def reoptimize(
        self, candidates: Iterable[CacheCandidate], hidden_too: bool = True
    ) -> list[Transition]:
        """Begin anew: unused candidates are profiled; used ones go on being used, but for those
        with an unused candidate inside, whose look-ups they would hide. hidden_too: False leaves
        those unused, and so all that is used in use."""
        known = [candidate for candidate in candidates if candidate.id in self._states]
        inputs = {candidate.id: set(candidate.windows) for candidate in known}
        unused = [inputs[id] for id in inputs if self._states[id] == "unused"]
        used = [inputs[id] for id in inputs if self._states[id] == "used"]

        def begins(id: str) -> bool:
            if self._states[id] == "unused":
                return hidden_too or not any(inputs[id] < outer for outer in used)
            holds = any(inner < inputs[id] for inner in unused)
            return self._states[id] == "used" and hidden_too and holds

        return [self.step(id, "re-optimization") for id in [id for id in inputs if begins(id)]]
