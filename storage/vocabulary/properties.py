"""What a system adds to the vocabulary: roles, kinds of matrices, properties, parts of details."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from storage.vocabulary.kinds import EntityKind


class Property(NamedTuple):
    """A property: its unit ('' = a plain number), the entity kinds that have it, its meaning.

    absent_is_zero: only written for batches where it is not 0.
    """

    unit: str
    kinds: tuple[EntityKind, ...]
    meaning: str
    absent_is_zero: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a system, or of several together; the writer refuses others.

    roles: what its entities and the nodes of its plans are for; how they are drawn, and which
    panels are shown, follows from it. matrices: their kinds. properties: what it samples, by name.
    long_parts: parts of the detail of its decisions with a number for each step, way or trial: most
    of the bytes, which lists of decisions do without. staying_parts: those that stay when a
    decision that changed nothing is rolled up, however long they are. Systems may share parts.
    events: kinds of those it raises.
    """

    roles: tuple[str, ...] = ()
    matrices: tuple[str, ...] = ()
    properties: Mapping[str, Property] = field(default_factory=dict)
    long_parts: frozenset[str] = frozenset()
    staying_parts: frozenset[str] = frozenset()
    events: tuple[str, ...] = ()


def joined(parts: Iterable[Vocabulary]) -> Vocabulary:
    """All words of all. Raises ValueError for one that two have: it would have two meanings."""
    parts = tuple(parts)
    roles: list[str] = []
    matrices: list[str] = []
    events: list[str] = []
    properties: dict[str, Property] = {}
    for part in parts:
        twice = {*roles} & {*part.roles} | {*matrices} & {*part.matrices}
        twice |= {*events} & {*part.events} | properties.keys() & part.properties.keys()
        if twice:
            raise ValueError(f"two vocabularies have {', '.join(sorted(twice))}")
        roles += part.roles
        matrices += part.matrices
        events += part.events
        properties |= part.properties
    long = frozenset().union(*(part.long_parts for part in parts))
    staying = frozenset().union(*(part.staying_parts for part in parts))
    return Vocabulary(tuple(roles), tuple(matrices), properties, long, staying, tuple(events))
