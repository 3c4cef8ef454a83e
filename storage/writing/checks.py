"""Checks of records before they are written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from storage.errors import BadRecord
from storage.vocabulary import registry
from storage.vocabulary.kinds import (
    EntityKind,
    InputState,
    Severity,
    Verdict,
    listed,
    words_of,
)
from storage.vocabulary.properties import Property
from storage.vocabulary.records import BatchRecord, Decision, Entity

#: Verdicts after which something is otherwise than before.
ACTING: Final = ("switched", "acted")


def check_record(record: BatchRecord) -> None:
    """Raise BadRecord for a word of no closed list, and for a boundary that carries tuples."""
    batch = record.batch
    if batch.id is None and (record.results or record.misfits or record.taps):
        raise BadRecord(
            "a boundary without data (batch id None) has no results, no taps and no misfits"
        )
    if batch.id is not None and batch.id < 0:
        raise BadRecord(f"batch id {batch.id} is negative; batches count from 0")
    for what, word, words in (*_words(record), *entity_words(record.entities)):
        if word not in words_of(words):
            raise BadRecord(f"{what} {word!r} is no such word; allowed: {listed(words)}")
    for decision in record.decisions:
        _check_grounds(decision)


def _check_grounds(decision: Decision) -> None:
    """Raise BadRecord where something was changed for a NaN."""
    numbers = (decision.lhs, decision.rhs, decision.predicted_old, decision.predicted_new)
    has_nan = any(number is not None and math.isnan(number) for number in numbers)
    if has_nan and decision.verdict in ACTING:
        words = f"decision {decision.seq} of {decision.unit_id or decision.algorithm}"
        raise BadRecord(f"{words} {decision.verdict} by a number that is none: {numbers}")


def _words(record: BatchRecord) -> Iterator[tuple[str, str, Any]]:
    """What each word is of, the word, and the list it has to be in."""
    for event in record.events:
        yield "event kind", event.kind, registry.KNOWN.events
        yield "event severity", event.severity, Severity
    for decision in record.decisions:
        yield "verdict", decision.verdict, Verdict
    for input in record.inputs:
        yield f"state of input {input.input}:", input.state, InputState
    for matrix in record.matrices:
        yield f"kind of matrix {matrix.name}:", matrix.kind, registry.KNOWN.matrices


def entity_words(entities: tuple[Entity, ...]) -> Iterator[tuple[str, str, Any]]:
    """As _words(), of entities."""
    for entity in entities:
        yield f"kind of entity {entity.id}:", entity.kind, EntityKind
        if entity.role:
            yield f"role of entity {entity.id}:", entity.role, registry.KNOWN.roles


def check_sample(name: str, unit: str, entity: str, kind: str | None) -> Property:
    """The property called ``name``; unit '' and kind None are not checked. Raises BadRecord."""
    properties = registry.KNOWN.properties
    known = properties.get(name)
    if known is None:
        raise BadRecord(
            f"sample of {entity}: unknown property {name!r}; known are {', '.join(properties)} "
            "(a new one gets a line in a module of storage.vocabulary and in docs/introspection.md)"
        )
    if unit and unit != known.unit:
        raise BadRecord(f"sample {name} of {entity} is in {unit!r}; its unit is {known.unit!r}")
    if kind is not None and kind not in known.kinds:
        raise BadRecord(
            f"sample {name} of {entity}, a {kind}; only {', '.join(known.kinds)} entities have it"
        )
    return known
