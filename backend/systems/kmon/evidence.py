"""What a join under k-constraints was seen to do, lately: rates, components, savings, costs.

Each number is a mean over batches in which the last one counts ``_NEWEST``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from backend.operators.network.kmon.tuning import (
    UNKNOWN_K,
    ComponentCounts,
    ConstraintProfile,
    KMonProfile,
    Loss,
)
from backend.systems.kmon.candidates import ConstrainedJoin, ConstraintCandidate

#: The share of the last batch in a mean.
_NEWEST: Final = 0.3


@dataclass(slots=True)
class SeenInput:
    """An input, in tuples: arrivals of a batch; what is in its components; No as it was while it
    was stored, and its share of all then. The bytes of a tuple that is kept, of one in No, and of
    one that lies aside. refuted: share of its tuples that No of its children let go, while stored.
    """

    arrivals: float = 0.0
    yes: float = 0.0
    unknown: float = 0.0
    plain: float = 0.0
    no: float = 0.0
    no_share: float = 0.0
    row_bytes: int = 0
    no_bytes: int = 0
    spilled_bytes: int = 0
    refuted: float = 0.0


@dataclass(slots=True)
class SeenConstraint:
    """A constraint. k: as it was last known, -1: never. saved: tuples that it keeps out of memory;
    time_share: of the join's processor time that watching it takes; recent: by batch distances
    observed and the largest of them, as many as an estimate is of."""

    k: int = UNKNOWN_K
    saved: float = 0.0
    time_share: float = 0.0
    recent: list[list[int]] = field(default_factory=list)

    @property
    def safe(self) -> int:
        """The largest of the last distances: the k that would have been safe; -1: none is known."""
        return max((largest for _, largest in self.recent), default=UNKNOWN_K)

    def observe(self, n: int, largest: int, window: int) -> None:
        """So many distances of a batch."""
        if n:
            self.recent.append([n, largest])
        while sum(n for n, _ in self.recent[1:]) >= window:
            del self.recent[0]


@dataclass(slots=True)
class Evidence:
    """Of one join. n_batches: behind it; held_bytes: of what it keeps; constraints: by key."""

    inputs: list[SeenInput]
    constraints: dict[str, SeenConstraint]
    n_batches: int = 0
    held_bytes: float = 0.0
    arrivals: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, join: ConstrainedJoin) -> Self:
        """Nothing is known."""
        inputs = [SeenInput() for _ in join.names]
        return cls(inputs, {key: SeenConstraint() for key in join.candidates})

    def take(
        self, join: ConstrainedJoin, profile: KMonProfile, declared: Mapping[str, int], window: int
    ) -> None:
        """A batch ran. declared: k of constraints that is not estimated; window: W."""
        before = self.arrivals or [0] * len(profile.arrivals)
        self.arrivals = list(profile.arrivals)
        for seen, input, now, then in zip(
            self.inputs, profile.components, profile.arrivals, before, strict=True
        ):
            self._take_input(seen, input, now - then)
        self._take_refuted(join, profile)
        for key, candidate in join.candidates.items():
            known = profile.constraints.get(candidate.id)
            if known is not None:
                own = self.constraints[key]
                own.k = known_k(known, declared.get(key, UNKNOWN_K), own.k)
                own.saved = self._mean(own.saved, known.saved_tuples)
                own.time_share = self._mean(own.time_share, _time_share(known, profile))
                own.observe(known.n_observed, known.largest, window)
        held = sum(counts.n_bytes for counts in profile.components)
        self.held_bytes = self._mean(self.held_bytes, held)
        self.n_batches += 1

    def _take_input(self, seen: SeenInput, counts: ComponentCounts, arrived: int) -> None:
        for name, value in {
            "arrivals": arrived,
            "yes": counts.yes,
            "unknown": counts.unknown,
            "plain": counts.plain,
        }.items():
            setattr(seen, name, self._mean(getattr(seen, name), value))
        if counts.no:
            seen.no = self._mean(seen.no, counts.no)
            seen.no_share = self._mean(seen.no_share, counts.no / counts.n_tuples)
        seen.row_bytes, seen.no_bytes = counts.row_bytes, counts.no_bytes
        seen.spilled_bytes = counts.spilled_bytes

    def _take_refuted(self, join: ConstrainedJoin, profile: KMonProfile) -> None:
        """Unless No is incomplete, or it is not known what constraints have let go."""
        parts, edges = profile.components, join.work.edges
        none_gone = not any(own.saved_tuples for own in profile.constraints.values())
        for place, (seen, part) in enumerate(zip(self.inputs, parts, strict=True)):
            stored = [parts[edge.child].no > 0 for edge in edges if edge.parent == place]
            if part.plain and stored and all(stored) and (part.spilled or none_gone):
                kept = (part.yes + part.unknown + part.spilled) / part.plain
                seen.refuted = self._mean(seen.refuted, max(0.0, 1 - kept))

    def _mean(self, before: float, now: float) -> float:
        return before + _NEWEST * (now - before) if self.n_batches else float(now)

    def saved_bytes(self, candidate: ConstraintCandidate, tuples: float, loss: Loss) -> float:
        """Bytes that so many tuples would take that a constraint lets go: with loss = never their
        keys are in memory still."""
        seen = self.inputs[candidate.input]
        kept = seen.spilled_bytes if loss == "never" else 0
        return max(0.0, tuples * (seen.row_bytes - kept))

    def rate(self, of: int, against: int) -> float:
        """Arrivals of an input for each of another."""
        return self.inputs[of].arrivals / max(self.inputs[against].arrivals, 1e-9)

    def to_json(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "inputs": [_values(values) for values in self.inputs],
            "constraints": {key: _values(seen) for key, seen in self.constraints.items()},
            "n_batches": self.n_batches,
            "held_bytes": self.held_bytes,
            "arrivals": self.arrivals,
        }

    @classmethod
    def from_json(cls, join: ConstrainedJoin, data: Mapping[str, Any]) -> Self:
        """The evidence of ``to_json``; constraints that are gone are left out."""
        inputs = [SeenInput(*values) for values in data["inputs"]]
        evidence = cls.of(join)
        known = {
            key: SeenConstraint(*seen)
            for key, seen in data["constraints"].items()
            if key in evidence.constraints
        }
        return cls(
            inputs,
            evidence.constraints | known,
            int(data["n_batches"]),
            float(data["held_bytes"]),
            list(data["arrivals"]),
        )


def known_k(constraint: ConstraintProfile, declared: int, before: int) -> int:
    """k that a constraint would be used with: in use, declared, estimated, or as it was last."""
    candidates: Iterable[int] = (constraint.k, declared, constraint.estimate, before)
    return next((k for k in candidates if k != UNKNOWN_K), UNKNOWN_K)


def _time_share(constraint: ConstraintProfile, profile: KMonProfile) -> float:
    """Of the processor time of a batch, what watching a constraint took, by its observations."""
    watched = sum(constraint.n_observed for constraint in profile.constraints.values())
    if not watched or not profile.processor_ns:
        return 0.0
    return profile.monitor_ns / profile.processor_ns * constraint.n_observed / watched


def _values(seen: SeenInput | SeenConstraint) -> list[Any]:
    return [getattr(seen, name) for name in seen.__slots__]
