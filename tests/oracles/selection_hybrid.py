"""Hybrid-sequences and ticket routing by the text, slowly: one tuple at a time, sets, fractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.oracles.selection import NaiveConstructs, Tuple, sql_value

Region = tuple[str, int]
#: (attribute, region) -> attribute visited next.
Arrows = Mapping[Region, str]


def region(naive: NaiveConstructs, attribute: str, row: Tuple) -> Region:
    """The region a value hits: 0 for NULL, else constants below + constants not above + 1."""
    declared = naive.schema.find(attribute)
    assert declared is not None
    value = sql_value(row.get(attribute), declared.type)
    known = naive.constants[attribute]
    if value is None:
        return attribute, 0
    return attribute, sum(c < value for c in known) + sum(c <= value for c in known) + 1


class Traveller:
    """One tuple under way."""

    def __init__(
        self, naive: NaiveConstructs, order: Sequence[str], row: Tuple, stop_rule: str
    ) -> None:
        self.naive, self.order, self.row, self.stop_rule = naive, order, row, stop_rule
        self.live = set(range(len(naive.tests)))
        self.visited: list[str] = []
        self.is_micro: list[bool] = []

    def has_use_for(self, attribute: str) -> bool:
        """Not visited, and it could still change something (the stop rule's reading of that)."""
        if attribute in self.visited or not self.live:
            return False
        return self.stop_rule == "drop" or bool(self.live & self.naive.users[attribute])

    def macro_successor(self) -> str | None:
        """The first useful construct of the macro order."""
        return next((a for a in self.order if self.has_use_for(a)), None)

    def after(self, attribute: str) -> set[int]:
        """The live slots if it visited the attribute."""
        return {j for j in self.live if self.naive.passes(j, attribute, self.row)}

    def at(self) -> Region:
        """The construct and region it visited last."""
        return region(self.naive, self.visited[-1], self.row)

    def travel(self, arrows: Arrows, n_visits: int) -> Traveller:
        """Make at most so many visits."""
        following = self.macro_successor()
        while following is not None and len(self.visited) < n_visits:
            self.live = self.after(following)
            self.visited.append(following)
            target = arrows.get(self.at())
            is_micro = target is not None and self.has_use_for(target)
            following = target if is_micro else self.macro_successor()
            self.is_micro.append(is_micro)
        return self


def route(
    naive: NaiveConstructs, order: Sequence[str], arrows: Arrows, row: Tuple, stop_rule: str
) -> Traveller:
    """A tuple that has arrived."""
    return Traveller(naive, order, row, stop_rule).travel(arrows, len(order))


def n_micro(traveller: Traveller) -> int:
    """Micro-arrows followed: those after which another visit came."""
    return sum(traveller.is_micro[: len(traveller.visited) - 1])


def hybrid_sequence(
    naive: NaiveConstructs,
    periods: Sequence[Sequence[Tuple]],
    order: Sequence[str],
    stop_rule: str,
    compare: str = "local",
    min_support: int = 1,
) -> dict[Region, str | None]:
    """The decision of each region, None where no arrow was established; level l on periods[l-1]."""
    decided: dict[Region, str | None] = {}
    for level in range(1, len(order)):
        arrows = {key: target for key, target in decided.items() if target is not None}
        standing: dict[Region, list[Traveller]] = {}
        for row in periods[level - 1]:
            t = Traveller(naive, order, row, stop_rule).travel(arrows, level)
            is_there = len(t.visited) == level and t.live & naive.covered
            if is_there and t.macro_successor() is not None:
                standing.setdefault(t.at(), []).append(t)
        for key, visitors in standing.items():
            if key not in decided and len(visitors) >= min_support:
                overall = (level, periods[level - 1]) if compare == "global" else None
                decided[key] = _decide(naive, order, key, visitors, overall)
    return decided


def _decide(
    naive: NaiveConstructs,
    order: Sequence[str],
    key: Region,
    visitors: list[Traveller],
    overall: tuple[int, Sequence[Tuple]] | None,
) -> str | None:
    named = {j for j in naive.covered if naive.passes(j, key[0], visitors[0].row)}
    candidates = [
        a for a in order if named & naive.users[a] and any(t.has_use_for(a) for t in visitors)
    ]
    in_first_phase = any(
        set().union(*(naive.users[a] for a in t.visited)) != naive.covered for t in visitors
    )

    def alive(choose: Callable[[Traveller], Any]) -> Fraction:
        left = sum(len(t.after(choose(t)) & naive.covered) for t in visitors)
        return Fraction(left, sum(len(t.live & naive.covered) for t in visitors))

    def undropped(choose: Callable[[Traveller], Any]) -> Fraction:
        left = sum(bool(t.after(choose(t)) & naive.covered) for t in visitors)
        return Fraction(left, len(visitors))

    def or_else(attribute: str) -> Callable[[Traveller], Any]:
        return lambda t: attribute if t.has_use_for(attribute) else t.macro_successor()

    measure = alive if in_first_phase else undropped
    scores = {a: (measure(or_else(a)), alive(or_else(a))) for a in candidates}
    if not scores:
        return None
    best = min(candidates, key=lambda a: (*scores[a], list(order).index(a)))
    bar = measure(lambda t: t.macro_successor())
    if overall is not None:
        bar = _macro_step(naive, order, *overall, in_first_phase)
    return best if scores[best][0] <= bar else None


def _macro_step(
    naive: NaiveConstructs,
    order: Sequence[str],
    level: int,
    rows: Sequence[Tuple],
    in_first_phase: bool,
) -> Fraction:
    """Alive (pairs, or tuples) after the macro step, over all monitored tuples."""
    before = [naive.live(order[:level], row) & naive.covered for row in rows]
    after = [naive.live(order[: level + 1], row) & naive.covered for row in rows]
    if in_first_phase:
        n_before = sum(map(len, before))
        return Fraction(sum(map(len, after)), n_before) if n_before else Fraction(1)
    return Fraction(sum(map(bool, after)), len(rows))


def ticket_routes(
    naive: NaiveConstructs,
    order: Sequence[str],
    rows: Sequence[Tuple],
    stop_rule: str,
    draw: Callable[[int], int],
) -> tuple[list[list[str]], list[int]]:
    """The constructs each tuple visits, and the tickets at the end; +1 received, -1 returned."""
    tickets = dict.fromkeys(order, 1)
    routes = []
    for row in rows:
        t = Traveller(naive, order, row, stop_rule)
        while useful := [a for a in order if t.has_use_for(a)]:
            urn = [a for a in useful for _ in range(tickets[a])]
            chosen = urn[draw(len(urn))]
            tickets[chosen] += 1
            t.live = t.after(chosen)
            t.visited.append(chosen)
            if t.live:
                tickets[chosen] -= 1
        routes.append(t.visited)
    return routes, list(tickets.values())
