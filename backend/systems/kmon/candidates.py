"""The k-constraints that a join can have, what people call them, and which were declared.

[B05] §6.9: referential integrity on each join, on one-one joins both ways; clustered and ordered
arrival of each join attribute of a parent; ordered arrival of each of a child.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backend.model.conditions import DeclaredConstraint
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.kmon import JoinEdge, KMonOp
from backend.operators.network.kmon.tuning import CONSTRAINT_TYPES, ConstraintId, constraint_ids
from backend.systems.joined import numbered

#: Types whose values have no order that streams could arrive in.
UNORDERED: Final = ("string", "boolean")


@dataclass(frozen=True, slots=True)
class ConstraintCandidate:
    """A constraint that a join can have. parent, child, attribute: names, '' where none applies.
    input: whose tuples it lets go; edges: the joins it is about, by number."""

    id: ConstraintId
    parent: str
    child: str
    attribute: str
    input: int
    edges: tuple[int, ...]

    @property
    def key(self) -> str:
        """Its id as text: ``RIDS 0 1``, ``CA 0.2``, ``OAC 1.0``."""
        id = self.id
        if id.type == "RIDS":
            return f"RIDS {id.parent} {id.child}"
        return f"{id.type} {max(id.parent, id.child)}.{id.place}"

    @property
    def name(self) -> str:
        """``RIDS B → C``, ``CA S1.A``."""
        if self.id.type == "RIDS":
            return f"RIDS {self.parent} → {self.child}"
        return f"{self.id.type} {self.parent or self.child}.{self.attribute}"

    @property
    def waits(self) -> bool:
        """Whether it tells that a child cannot come any more (RIDS, OAC); else that no parent can
        (CA, OAP)."""
        return self.id.type in ("RIDS", "OAC")


@dataclass(frozen=True, slots=True)
class ConstrainedJoin:
    """A join under k-constraints as decisions see it. names: of inputs; candidates: by key."""

    work: KMonOp
    names: tuple[str, ...]
    candidates: Mapping[str, ConstraintCandidate]

    @classmethod
    def of(cls, plan: NetworkPlan, id: str) -> ConstrainedJoin:
        """Of an operator. Raises ValueError: it is no such join."""
        planned = plan.operator(id)
        work = planned.doing(KMonOp)
        inputs = [plan.operator(input).fields for input in planned.inputs]
        columns = [[(field.name, field.type) for field in fields] for fields in inputs]
        names = numbered([input.name for input in work.inputs])
        candidates = _candidates(work, names, columns)
        return cls(work, names, {candidate.key: candidate for candidate in candidates})

    def parents(self, input: int) -> list[int]:
        """The joins in which an input is the child, by number."""
        return [place for place, edge in enumerate(self.work.edges) if edge.child == input]

    def declared(self, constraints: Iterable[DeclaredConstraint]) -> dict[str, int]:
        """The k of candidates that were declared; of several the largest, which holds for sure.
        What is meant for other joins is left out."""
        ks: dict[str, int] = {}
        for declaration in constraints:
            for key in self.meant(declaration):
                ks[key] = max(ks.get(key, 0), declaration.k)
        return ks

    def meant(self, wanted: DeclaredConstraint) -> list[str]:
        """The candidates that a declaration is about."""
        return [key for key, candidate in self.candidates.items() if _is_meant(candidate, wanted)]


def declared_words(declaration: DeclaredConstraint) -> str:
    """``RIDS B → C``, ``OAP S1.B``: as candidates are named."""
    if declaration.type == "RIDS":
        return f"RIDS {declaration.parent} → {declaration.child}"
    return f"{declaration.type} {declaration.parent or declaration.child}.{declaration.attribute}"


def is_ordered(type: str) -> bool:
    """Whether values of a type have an order that they can arrive in."""
    return type not in UNORDERED


def _candidates(
    work: KMonOp, names: Sequence[str], columns: Sequence[Sequence[tuple[str, str]]]
) -> Iterator[ConstraintCandidate]:
    """Those that make sense for the types of the attributes."""
    for id in constraint_ids(work):
        edges = tuple(n for n, edge in enumerate(work.edges) if _is_about(id, edge))
        first = work.edges[edges[0]]
        if id.type == "RIDS":
            yield ConstraintCandidate(id, names[id.parent], names[id.child], "", id.parent, edges)
            continue
        name, type = columns[max(id.parent, id.child)][id.place]
        if id.type == "OAC" and is_ordered(type):
            yield ConstraintCandidate(id, "", names[id.child], name, first.parent, edges)
        elif id.type == "CA" or (id.type == "OAP" and is_ordered(type)):
            yield ConstraintCandidate(id, names[id.parent], "", name, first.child, edges)


def _is_about(id: ConstraintId, edge: JoinEdge) -> bool:
    if id.type == "RIDS":
        return {id.parent, id.child} == {edge.parent, edge.child}
    if id.type == "OAC":
        return id.child == edge.child and any(below == id.place for _, below in edge.on)
    return id.parent == edge.parent and any(above == id.place for above, _ in edge.on)


def _is_meant(candidate: ConstraintCandidate, wanted: DeclaredConstraint) -> bool:
    """Names count without regard to case; a stream may be named as parent or as child."""
    if wanted.type not in CONSTRAINT_TYPES or wanted.type != candidate.id.type:
        return False
    if candidate.id.type == "RIDS":
        return _same(candidate.parent, wanted.parent) and _same(candidate.child, wanted.child)
    stream = candidate.parent or candidate.child
    named = wanted.parent or wanted.child
    return _same(stream, named) and _same(candidate.attribute, wanted.attribute)


def _same(name: str, wanted: str) -> bool:
    """A stream that comes several times is meant each time, unless it is named with its number."""
    bare = name.rpartition(" ")[0] or name
    return wanted.casefold() in (name.casefold(), bare.casefold())
