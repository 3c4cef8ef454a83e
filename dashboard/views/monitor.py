"""What the Monitor page shows: graphs of properties that people picked (STREAM's visualizer)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.components.formats import Format
from dashboard.views.book import SYSTEM, Book
from dashboard.views.numbers import form_of, known, shown_unit
from dashboard.views.plan import Values, points
from storage.rows import SeriesData
from storage.vocabulary import registry

#: Between graphs, and between entity and property, in the address.
_GRAPHS, _PARTS = "~", "|"
#: Graphs drawn at once, and choices offered.
MOST_GRAPHS: Final = 24
MOST_CHOICES: Final = 2000
#: What is shown when nobody picked anything.
FIRST: Final = ("tuples_per_s", "batch_ms", "backlog_tuples", "visits_per_tuple")

Key = tuple[str, str]


class Picked(NamedTuple):
    """A graph. name: of a property of ``entity``. whose: what people call the entity. without: the
    address of the page without it."""

    entity: str
    name: str
    whose: str
    meaning: str
    form: Format
    unit: str
    points: list[tuple[int, float | None]]
    without: str

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.whose} · {self.name.replace('_', ' ')}"

    @property
    def numbers(self) -> list[float]:
        """The known values, oldest first."""
        return [value for _, value in self.points if value is not None]


class MonitorView(NamedTuple):
    """graphs: in the order they were picked. choices: name for people -> what to put into the
    address to have it, too. chosen: somebody picked these."""

    graphs: list[Picked]
    choices: dict[str, str]
    chosen: bool


def picked(show: str | None, entities: Book) -> list[Key]:
    """The graphs an address names, in their order, each once; without one the engine's."""
    if not show:
        return [(SYSTEM, name) for name in FIRST]
    pairs = (part.rpartition(_PARTS) for part in show.split(_GRAPHS))
    found = dict.fromkeys((entity, name) for entity, _, name in pairs if entity and name)
    return list(found)[:MOST_GRAPHS]


def address(keys: Sequence[Key]) -> str:
    """The ``show`` of an address for some graphs."""
    return _GRAPHS.join(_PARTS.join(key) for key in keys)


def build_monitor(
    keys: Sequence[Key],
    chosen: bool,
    entities: Book,
    values: Values,
    series: Mapping[Key, SeriesData],
) -> MonitorView:
    """The graphs at a moment. values: of the batch, for what could be added."""
    graphs = []
    for key in keys:
        entity, name = key
        about = registry.KNOWN.properties.get(name)
        unit = about.unit if about else ""
        without = address([other for other in keys if other != key])
        graphs.append(
            Picked(
                entity,
                name,
                entities.name(entity),
                about.meaning if about else "",
                form_of(unit),
                shown_unit(unit),
                points(series.get(key)),
                without,
            )
        )
    return MonitorView(graphs, _choices(keys, entities, values), chosen)


def _choices(keys: Sequence[Key], entities: Book, values: Values) -> dict[str, str]:
    """Every number there is that is not drawn yet, by name."""
    found: dict[str, str] = {}
    for entity, own in values.items():
        if entity not in entities:
            continue
        whose = entities.name(entity)
        for name, value in own.items():
            if (entity, name) not in keys and value is not None and known(value):
                words = f"{whose} · {name.replace('_', ' ')}"
                if words in found:
                    words = f"{words} ({entity})"
                found[words] = address([*keys, (entity, name)])
    return dict(sorted(found.items())[:MOST_CHOICES])
