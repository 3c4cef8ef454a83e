"""What constraints bid for memory: what each would save more, against what its use costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dashboard.systems.kmon.history import CONSTRAINT
from dashboard.systems.kmon.ledger_view import state_of
from dashboard.views.book import Book
from dashboard.views.numbers import known
from storage.vocabulary.records import Entity

Values = Mapping[str, Mapping[str, float | None]]


class ConstraintBid(NamedTuple):
    """A constraint whose k is known. worth: bytes that it adds to what others save; cost: bytes
    that its use takes or is worth."""

    id: str
    name: str
    short: str
    state: str
    worth: float
    cost: float

    @property
    def ratio(self) -> float | None:
        """Times that it saves what it costs; None: it costs nothing."""
        return self.worth / self.cost if self.cost else None


class JoinBids(NamedTuple):
    """A join. title: of its queries. held, plain: bytes that it holds, and would without
    constraints; time: what processor time counts against memory, 1 while memory is not short.
    bids: those that save most for their cost first."""

    id: str
    title: str
    held: float | None
    plain: float | None
    time: float | None
    bids: tuple[ConstraintBid, ...]


def build_bids(book: Book, values: Values) -> list[JoinBids]:
    """Of each join with constraints, by title."""
    by_join: dict[str, list[Entity]] = {}
    for entity in book.of(CONSTRAINT):
        by_join.setdefault(str(entity.properties.get("node", "")), []).append(entity)
    joins = [_join(book, values, join, entities) for join, entities in by_join.items()]
    return sorted(joins, key=lambda join: join.title)


def _join(book: Book, values: Values, join: str, constraints: list[Entity]) -> JoinBids:
    own = values.get(join, {})
    bids = [bid for entity in constraints if (bid := _bid(entity, values)) is not None]
    bids.sort(key=lambda bid: (bid.cost - bid.worth, bid.name))
    held, plain, time = (own.get(name) for name in ("held_bytes", "plain_bytes", "time_weight"))
    return JoinBids(join, book.title(join), held, plain, time, tuple(bids))


def _bid(entity: Entity, values: Values) -> ConstraintBid | None:
    own = values.get(entity.id, {})
    worth, cost = own.get("k_worth_bytes"), own.get("k_cost_bytes")
    if worth is None or cost is None or not known(worth) or not known(cost):
        return None
    short = str(entity.properties.get("short_name", entity.name))
    return ConstraintBid(entity.id, entity.name, short, state_of(own.get("k_state")), worth, cost)
