"""Which operators of a network are looked into where somebody taps an edge of its plan."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from backend.model.ids import source_id, source_queue
from backend.operators.network.core.job import queue_id
from backend.systems.stream.layout import NetworkLayout

#: The nearest operators behind an edge that are looked into with it, itself among them.
MOST_OPERATORS: Final = 24


def tapped(layout: NetworkLayout, entity: str) -> dict[str, str]:
    """Operator -> its entity: of what fills an edge, or of an operator, and of those behind it."""
    place = _place(layout, entity)
    if place is None:
        return {}
    giver, readers = place
    passed = dict.fromkeys([giver, *readers])
    waiting = list(readers)
    for id in waiting:  # it grows as it is read
        new = [reader for reader in _readers(layout, (id,)) if reader not in passed]
        passed |= dict.fromkeys(new)
        waiting += new
    return {id: layout.node(id) for id in list(passed)[:MOST_OPERATORS]}


def _place(layout: NetworkLayout, entity: str) -> tuple[str, list[str]] | None:
    """The operator whose elements go through an entity, and those that it leads to."""
    for operator in layout.plan.operators:
        for port, input in enumerate(operator.inputs):
            if layout.queue(queue_id(input, operator.id, port)) == entity:
                return input, [operator.id]
        if layout.node(operator.id) == entity:
            return _taken_in(layout, operator.id)
    for query, answer in layout.plan.answers.items():
        if entity in (layout.answer(query), layout.answer_queue(query)):
            return answer.operator, []
    for stream, ids in layout.streams.items():
        if entity in (source_id(stream), source_queue(stream)):
            return _taken_in(layout, ids[0])
    return None


def _taken_in(layout: NetworkLayout, id: str) -> tuple[str, list[str]]:
    """An operator and those it leads to; of several that take in the same, which are shown as one,
    that with the most columns tells most."""
    work = layout.plan.operator(id).work
    same: tuple[str, ...] = (id,)
    if work.reads:
        same = (layout.relations if work.is_stored else layout.streams)[work.reads]
    widest = max(same, key=lambda own: len(layout.plan.operator(own).fields))
    return widest, _readers(layout, same)


def _readers(layout: NetworkLayout, ids: Collection[str]) -> list[str]:
    return [
        operator.id
        for operator in layout.plan.operators
        if any(input in ids for input in operator.inputs)
    ]
