"""Access patterns and buckets, attribute by attribute: the slow twin of AMRI's. Card A1, A2."""

from __future__ import annotations

from collections.abc import Collection, Sequence

Column = tuple[int, int]
Predicate = tuple[Column, str, Column]


def equal_columns(predicates: Sequence[Predicate], column: Column) -> set[Column]:
    """All columns that equalities reach from one, itself among them."""
    found = {column}
    while True:
        more = {
            b
            for left, op, right in predicates
            for a, b in ((left, right), (right, left))
            if op == "=" and a in found
        }
        if more <= found:
            return found
        found |= more


def partners(predicates: Sequence[Predicate], column: Column, only: str = "") -> set[int]:
    """Other states that specify a column, by '=' or by 'order'."""
    mine = equal_columns(predicates, column)
    equal = {state for state, _ in mine}
    ordered: set[int] = set()
    for left, op, right in predicates:
        for a, b in ((left, right), (right, left)):
            if op != "=" and a in mine:
                ordered |= {state for state, _ in equal_columns(predicates, b)}
    of = {"=": equal, "order": ordered, "": equal | ordered}[only]
    return of - {column[0]}


def join_attributes(predicates: Sequence[Predicate], state: int) -> list[int]:
    """JAS of a state by the places of its columns, the first of those that are equal."""
    columns = sorted({c for left, _, right in predicates for c in (left, right) if c[0] == state})
    return [
        place
        for own, place in columns
        if partners(predicates, (own, place))
        and place == min(p for s, p in equal_columns(predicates, (own, place)) if s == state)
    ]


def pattern(predicates: Sequence[Predicate], composite: Collection[int], state: int) -> int:
    """B(ap): written as a word of 0 and 1, the first attribute first."""
    word = "".join(
        "1" if partners(predicates, (state, place)) & set(composite) else "0"
        for place in join_attributes(predicates, state)
    )
    return int(word or "0", 2)
