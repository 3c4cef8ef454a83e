"""Which operators of a network are looked into where somebody taps an edge of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backend.model.ids import source_id, source_queue
from backend.operators.network.core.job import queue_id
from backend.systems.stream.layout import NetworkLayout

#: The nearest operators behind an edge that are looked into with it, itself among them.
MOST_OPERATORS: Final = 24


def tapped(layout: NetworkLayout, entity: str) -> dict[str, str]:
    """Operator -> its entity: of what fills an edge, or of an operator, and of those behind it."""
    first = _giver(layout, entity)
    if first is None:
        return {}
    readers: dict[str, list[str]] = {}
    for operator in layout.plan.operators:
        for input in operator.inputs:
            readers.setdefault(_shown(layout, input), []).append(operator.id)
    found = [first]
    for id in found:  # it grows as it is read
        found += [reader for reader in readers.get(id, ()) if reader not in found]
        if len(found) >= MOST_OPERATORS:
            break
    return {id: layout.node(id) for id in found[:MOST_OPERATORS]}


def _giver(layout: NetworkLayout, entity: str) -> str | None:
    """The operator whose elements go through an entity."""
    for operator in layout.plan.operators:
        own = (layout.queue(queue_id(i, operator.id, k)) for k, i in enumerate(operator.inputs))
        for queue, input in zip(own, operator.inputs, strict=True):
            if queue == entity:
                return _shown(layout, input)
        if layout.node(operator.id) == entity:
            return _shown(layout, operator.id)
    for query, answer in layout.plan.answers.items():
        if entity in (layout.answer(query), layout.answer_queue(query)):
            return _shown(layout, answer.operator)
    for stream, readers in layout.streams.items():
        if entity in (source_id(stream), source_queue(stream)):
            return _shown(layout, readers[0])
    return None


def _shown(layout: NetworkLayout, id: str) -> str:
    """The operator that stands for those shown as the same node: several may take in a stream, and
    of these the one with the most columns tells most."""
    work = layout.plan.operator(id).work
    if not work.reads:
        return id
    read: Mapping[str, tuple[str, ...]] = layout.relations if work.is_stored else layout.streams
    return max(read[work.reads], key=lambda own: len(layout.plan.operator(own).fields))
