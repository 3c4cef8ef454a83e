"""What can be looked up in a run: parts, queries, knobs, decisions, words of the glossary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dashboard.api.common import find_run
from dashboard.api.registry import ApiCall
from dashboard.components.names import words_of
from dashboard.views.events import titled
from dashboard.views.glossary import GlossaryWord, glossary_of
from storage.reader import Reader

#: Kinds of entities -> the page that shows them.
PAGES: Final = {
    "operator": "/plan",
    "queue": "/plan",
    "synopsis": "/plan",
    "store": "/plan",
    "query": "/results",
}
#: Newest events that stand for decisions.
MOST_DECIDED: Final = 2000
_DECIDED: Final = ("rearrangement", "held back")


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Something to go to. words: what people call it; kind: what it is. path, node, at, unit: where
    it is shown; null: as it is."""

    words: str
    kind: str
    path: str
    node: str | None = None
    at: int | None = None
    unit: str | None = None


def places(call: ApiCall) -> list[SearchPlace]:
    """All of them; decisions newest first."""
    reader, run = call.services.reader, find_run(call).id
    return [*_entities(reader, run), *_knobs(reader, run), *_decisions(reader, run)]


def glossary(call: ApiCall) -> list[GlossaryWord]:
    """Of all systems, and of those that the run has."""
    run = find_run(call).id
    return glossary_of({unit.system for unit in call.services.reader.units(run)})


def _entities(reader: Reader, run: str) -> Iterator[SearchPlace]:
    for entity in reader.entities(run):
        if entity.kind in PAGES:
            yield SearchPlace(
                entity.name, entity.role or entity.kind, PAGES[entity.kind], entity.id
            )


def _knobs(reader: Reader, run: str) -> Iterator[SearchPlace]:
    titles = {unit.id: unit.title for unit in reader.units(run)}
    for knob in reader.knobs(run):
        whose = titles.get(knob.scope, knob.scope)
        kind = f"knob {knob.name}{f' of {whose}' if whose else ''}"
        yield SearchPlace(words_of(knob.name), kind, "/knobs", unit=knob.scope or None)


def _decisions(reader: Reader, run: str) -> Iterator[SearchPlace]:
    events = reader.events(run, limit=MOST_DECIDED, kinds=_DECIDED)
    for stored in reversed(titled(events, reader.plans(run))):
        seq = (stored.event.ref or {}).get("decision")
        if isinstance(seq, int):
            kind = f"decision #{seq}, batch {stored.batch}"
            unit = stored.event.unit_id or None
            yield SearchPlace(stored.event.title, kind, "/decisions", str(seq), stored.batch, unit)
