"""What each input of a join under k-constraints holds, and how long its tuples wait."""

from __future__ import annotations

from typing import NamedTuple

from dashboard.systems.kmon.history import COMPONENTS, CONSTRAINT
from dashboard.systems.kmon.ledger_view import USED, Values, state_of
from dashboard.views.book import Book
from dashboard.views.numbers import known
from storage.vocabulary.records import Entity


class InputHeld(NamedTuple):
    """The synopsis of an input. name: of the input; yes, unknown, no: tuples in memory; spilled:
    aside, with their keys in memory; plain: that a join without constraints would hold."""

    id: str
    name: str
    yes: float
    unknown: float
    no: float
    spilled: float
    plain: float | None

    @property
    def kept(self) -> float:
        """In memory or aside."""
        return self.yes + self.unknown + self.no + self.spilled

    @property
    def share(self) -> float | None:
        """In memory, for each tuple that a join without constraints would hold."""
        return (self.kept - self.spilled) / self.plain if self.plain else None


class Waiting(NamedTuple):
    """A constraint on a join. short: its name beside the join; k: in use, None = ∞: its tuples wait
    until they leave the window."""

    id: str
    name: str
    short: str
    state: str
    k: float | None


class JoinSynopses(NamedTuple):
    """A join with its inputs and its constraints, as they are named."""

    id: str
    name: str
    inputs: tuple[InputHeld, ...]
    waits: tuple[Waiting, ...]


def build_synopses(book: Book, values: Values) -> list[JoinSynopses]:
    """One for each join that has synopses of this kind, by name."""
    synopses_of: dict[str, list[Entity]] = {}
    for entity in book.of(COMPONENTS):
        synopses_of.setdefault(str(entity.properties.get("node", "")), []).append(entity)
    joins = []
    for join, synopses in synopses_of.items():
        inputs = tuple(_held(entity, values) for entity in synopses)
        waits = tuple(
            _waiting(entity, values)
            for entity in book.of(CONSTRAINT)
            if str(entity.properties.get("node", "")) == join
        )
        by_name = tuple(sorted(waits, key=lambda each: each.name))
        joins.append(JoinSynopses(join, book.whole_name(join), inputs, by_name))
    return sorted(joins, key=lambda each: each.name)


def _held(entity: Entity, values: Values) -> InputHeld:
    own = values.get(entity.id, {})
    names = ("yes_tuples", "unknown_tuples", "no_tuples", "spilled_tuples")
    yes, unknown, no, spilled = (own.get(name) or 0.0 for name in names)
    plain = own.get("plain_tuples")
    name = str(entity.properties.get("input") or entity.name)
    return InputHeld(entity.id, name, yes, unknown, no, spilled, plain if known(plain) else None)


def _waiting(entity: Entity, values: Values) -> Waiting:
    own = values.get(entity.id, {})
    k = own.get(USED)
    short = str(entity.properties.get("short_name", entity.name))
    return Waiting(
        entity.id, entity.name, short, state_of(own.get("k_state")), k if known(k) else None
    )
