"""What k-constraints save and cost, from what a join was seen to do: the numbers of a choice.

What has been in use for a while is measured (``ConstraintProfile.saved_tuples``). Of others it is
estimated from k and rates, with what is measured now:

- RIDS(k) and OAC(k) of P → C let tuples of P go that wait in vain. Now U of P wait (on the way back
  of a one-one join also those in Yes); then no more than arrive during k arrivals of C,
  k · rate(P) / rate(C). The rest is saved. No of C is needless once every join into C has one of
  these; what it took while it was stored is saved as well.
- In return, a tuple of P whose child is in No is not found there, and waits k arrivals of C. That
  many tuples are the cost of delay: the share of C in No, times k · rate(P) / rate(C). After that
  they are let go, which saves nothing: No would have refuted them. Where none is lost their keys
  stay in memory until they leave their window, a cost as well. It is charged whether or not
  another join into C needs No still, so it is an upper estimate.
- CA(k) and OAP(k) on all parents P of C, if these are all roots, let tuples of C go that no parent
  can join any more; then no more stay than arrive during k arrivals of P, k · rate(C) / rate(P), of
  the slowest parent. Tuples of parents that go with them count once measured. If there are other
  roots only No of C is saved.
- A constraint takes bytes of its own: a stamp for each tuple that waits (RIDS), an entry for each
  live value (CA), the last k values (OAP, OAC). Its processor time, by its share in what was
  observed, is worth the same share of the bytes held: 1 % of the time may be spent to save 1 % of
  the memory. While the pool of the run grants less than is held, time is worth less by as much.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backend.operators.network.kmon.tuning import Loss
from backend.systems.kmon.candidates import ConstrainedJoin, ConstraintCandidate
from backend.systems.kmon.choosing import ConstraintProblem, Effect
from backend.systems.kmon.evidence import Evidence, SeenInput

#: Bytes of the stamp of a waiting tuple, of an entry of a live value, and of a kept value.
STAMP_BYTES: Final = 8
ENTRY_BYTES: Final = 24
VALUE_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Pricing:
    """Of one join at a moment. used: constraints in use, by key; settled: of these, those that have
    been for a while; kept: largest distances noticed; time_weight: of processor time, 1 while
    memory is not short."""

    join: ConstrainedJoin
    seen: Evidence
    used: frozenset[str]
    settled: frozenset[str]
    kept: Mapping[str, int]
    loss: Loss
    time_weight: float = 1.0

    def problem(self, priced: Collection[str], pinned: Collection[str] = ()) -> ConstraintProblem:
        """The choice among some constraints, whose k is known."""
        costs = {key: self.cost(key) for key in sorted(priced)}
        effects = [*self._waiting(), *self._refuted(), *self._covered()]
        own = [
            Effect(effect.what, tuple(_only(g, costs) for g in effect.groups)) for effect in effects
        ]
        helping = tuple(effect for effect in own if effect.value(costs) > 0)
        return ConstraintProblem(costs, helping, frozenset(pinned) & costs.keys())

    # ------------------------------------------------------------------ costs

    def cost(self, key: str) -> float:
        """Bytes that using a constraint takes or is worth."""
        time = self.seen.constraints[key].time_share * self.time_weight * self.seen.held_bytes
        return self.bookkeeping(key) + time + self.delay(key)

    def bookkeeping(self, key: str) -> float:
        """Bytes that it takes itself."""
        candidate, k = self.join.candidates[key], self.seen.constraints[key].k
        kept = max(self.kept.get(key, k), k) + 1
        if candidate.id.type == "RIDS":
            waiting = self._waits_now(candidate)
            stay = (
                waiting
                if key in self.used
                else min(waiting, self._residue(key, candidate.edges[0]))
            )
            return STAMP_BYTES * stay
        if candidate.id.type == "CA":
            return ENTRY_BYTES * kept
        return VALUE_BYTES * kept

    def delay(self, key: str) -> float:
        """Bytes of parents that wait because No of the child is not there to refute them, and of
        their keys once they lie aside."""
        candidate = self.join.candidates[key]
        if not candidate.waits or self._is_back(candidate):
            return 0.0
        return sum(self._delayed(key, edge) for edge in candidate.edges)

    def _delayed(self, key: str, edge: int) -> float:
        parent = self._parent(edge)
        waiting = self._child(edge).no_share * min(self._residue(key, edge), parent.plain)
        kept = parent.spilled_bytes if self.loss == "never" else 0
        return waiting * parent.row_bytes + self._refuted_later(key, edge) * kept

    def _refuted_later(self, key: str, edge: int) -> float:
        """Parents in their window that have waited for so long, and that No would have refuted."""
        if self._is_back(self.join.candidates[key]):
            return 0.0
        parent = self._parent(edge)
        waited = max(0.0, parent.plain - self._residue(key, edge))
        return min(self._child(edge).no_share, parent.refuted) * waited

    # ------------------------------------------------------------------ savings

    def _waiting(self) -> list[Effect]:
        """Tuples that wait in vain, of each join and way."""
        effects = []
        for edge, _ in enumerate(self.join.work.edges):
            for back in (False, True):
                group = {
                    key: self._wait_value(key, edge)
                    for key, candidate in self.join.candidates.items()
                    if candidate.waits
                    and edge in candidate.edges
                    and self._is_back(candidate) == back
                }
                if group:
                    effects.append(Effect("tuples that wait in vain", (group,)))
        return effects

    def _wait_value(self, key: str, edge: int) -> float:
        candidate, refuted = self.join.candidates[key], self._refuted_later(key, edge)
        measured = max(0.0, self._measured(key) - refuted)
        rivals = [
            other
            for other, of in self.join.candidates.items()
            if of.waits and edge in of.edges and self._is_back(of) == self._is_back(candidate)
        ]
        gone = max(0.0, sum(self._measured(other) for other in rivals) - refuted)
        model = max(0.0, self._waits_now(candidate) + gone - self._residue(key, edge))
        tuples = model
        if key in self.settled:
            alone = not any(other in self.used for other in rivals if other != key)
            tuples = measured if alone else min(gone, max(measured, model))
        return self.seen.saved_bytes(candidate, tuples, self.loss)

    def _refuted(self) -> list[Effect]:
        """No of a child, once every join into it is bounded."""
        effects = []
        for input, seen in enumerate(self.seen.inputs):
            groups = [
                {
                    key: seen.no * seen.no_bytes
                    for key, candidate in self.join.candidates.items()
                    if candidate.waits and edge in candidate.edges and not self._is_back(candidate)
                }
                for edge in self.join.parents(input)
            ]
            if groups:
                effects.append(Effect("No of a child", tuple(groups)))
        return effects

    def _covered(self) -> list[Effect]:
        """Tuples of a child that no parent joins any more."""
        effects = []
        for input, _ in enumerate(self.seen.inputs):
            groups = self._covering(input)
            if not groups:
                continue
            has_settled = all(any(key in self.settled for key in own) for own in groups)
            priced = [
                {key: self._cover_value(key, edge, groups, has_settled) for key in own}
                for edge, own in zip(self.join.parents(input), groups, strict=True)
            ]
            effects.append(Effect("tuples that no parent joins any more", tuple(priced)))
        return effects

    def _covering(self, input: int) -> list[list[str]]:
        """For each join into an input the constraints that cover it."""
        candidates = self.join.candidates.items()
        return [
            [
                key
                for key, candidate in candidates
                if not candidate.waits and edge in candidate.edges
            ]
            for edge in self.join.parents(input)
        ]

    def _cover_value(
        self, key: str, edge: int, groups: Sequence[Sequence[str]], has_settled: bool
    ) -> float:
        input = self.join.work.edges[edge].child
        child, candidate = self.seen.inputs[input], self.join.candidates[key]
        parents = {self.join.work.edges[into].parent for into in self.join.parents(input)}
        if not parents.issuperset(self.join.work.roots()):
            return child.no * child.no_bytes
        gone = sum(self._measured(other) for own in groups for other in own)
        if has_settled and key in self.settled:
            return self.seen.saved_bytes(candidate, gone, self.loss)
        tuples = child.yes + child.unknown + gone - self._residue(key, edge)
        return self.seen.saved_bytes(candidate, max(0.0, tuples), self.loss)

    # ------------------------------------------------------------------ what both rest on

    def _measured(self, key: str) -> float:
        """Tuples, for one of its joins."""
        if key not in self.used:
            return 0.0
        return self.seen.constraints[key].saved / len(self.join.candidates[key].edges)

    def _waits_now(self, candidate: ConstraintCandidate) -> float:
        """Tuples that it could let go, by what the join holds now."""
        seen = self.seen.inputs[candidate.input]
        return seen.unknown + (seen.yes if self._is_back(candidate) else 0.0)

    def _residue(self, key: str, edge: int) -> float:
        """Tuples that stay with it: those that arrive during k arrivals on the other side."""
        candidate, of = self.join.candidates[key], self.join.work.edges[edge]
        other = of.parent if candidate.input == of.child else of.child
        mine = of.child if candidate.input == of.child else of.parent
        return self.seen.constraints[key].k * self.seen.rate(mine, other)

    def _is_back(self, candidate: ConstraintCandidate) -> bool:
        """RIDS the other way round: children wait for parents."""
        of = self.join.work.edges[candidate.edges[0]]
        return candidate.id.type == "RIDS" and candidate.id.parent == of.child

    def _child(self, edge: int) -> SeenInput:
        return self.seen.inputs[self.join.work.edges[edge].child]

    def _parent(self, edge: int) -> SeenInput:
        return self.seen.inputs[self.join.work.edges[edge].parent]


def _only(group: Mapping[str, float], costs: Mapping[str, float]) -> dict[str, float]:
    return {key: value for key, value in group.items() if key in costs}
