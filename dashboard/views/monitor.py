"""What the Monitor page shows: graphs of properties that people picked (STREAM's visualizer).

In the address a graph is ``entity|property`` or ``entity|property=title``, graphs have a ``~``
between them. A query may stand there by its name, as ``@name``: it is found in any run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.components.formats import Format
from dashboard.components.names import words_of
from dashboard.views.book import QUERY_NAMED, SYSTEM, Book
from dashboard.views.numbers import form_of, known, shown_unit
from dashboard.views.plan import Values, points
from storage.tables.rows import SeriesData
from storage.vocabulary import registry

#: Between graphs, between entity and property, and in front of a title, in the address.
_GRAPHS, _PARTS, _TITLE = "~", "|", "="
#: Graphs drawn at once, and choices offered.
MOST_GRAPHS: Final = 24
MOST_CHOICES: Final = 2000
#: What is shown when nobody picked anything.
FIRST: Final = ("tuples_per_s", "batch_ms", "backlog_tuples", "visits_per_tuple")

#: The number a query answers.
ANSWER: Final = "answer_value"

Key = tuple[str, str]


class Asked(NamedTuple):
    """A graph as an address has it. told: the entity as it stands there; entity: its id; title:
    what somebody called it, or ''."""

    told: str
    entity: str
    name: str
    title: str = ""

    @property
    def key(self) -> Key:
        """What to read."""
        return self.entity, self.name


class Picked(NamedTuple):
    """A graph. name: of a property of ``entity``. whose: what people call the entity, or the title
    somebody gave the graph. place: in the address, None = it is not in one. query, text: of the
    query whose answer it draws, or ''. without: the address of the page without it."""

    entity: str
    name: str
    whose: str
    meaning: str
    form: Format
    unit: str
    points: list[tuple[int, float | None]]
    without: str
    place: int | None = None
    query: str = ""
    text: str = ""

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.whose} · {words_of(self.name)}"

    @property
    def numbers(self) -> list[float]:
        """The known values, oldest first."""
        return [value for _, value in self.points if value is not None]


class MonitorView(NamedTuple):
    """graphs: in the order they were picked. choices: name for people -> the graph as an address
    has it. chosen: somebody picked these. address: of what is drawn."""

    graphs: list[Picked]
    choices: dict[str, str]
    chosen: bool
    address: str


def picked(show: str | None, entities: Book) -> list[Asked]:
    """The graphs an address names, in their order, each once; without one the engine's."""
    if not show:
        return [Asked(SYSTEM, SYSTEM, name) for name in FIRST]
    found: dict[Key, Asked] = {}
    for part in show.split(_GRAPHS):
        told, _, rest = part.rpartition(_PARTS)
        name, _, title = rest.partition(_TITLE)
        asked = Asked(told, entities.addressed(told), name, title)
        if told and name:
            found.setdefault(asked.key, asked)
    return list(found.values())[:MOST_GRAPHS]


def address(graphs: Sequence[Asked]) -> str:
    """The ``show`` of an address for some graphs."""
    titled = ((one, f"{_TITLE}{one.title}" if one.title else "") for one in graphs)
    return _GRAPHS.join(f"{one.told}{_PARTS}{one.name}{title}" for one, title in titled)


def build_monitor(
    asked: Sequence[Asked],
    chosen: bool,
    entities: Book,
    values: Values,
    series: Mapping[Key, SeriesData],
) -> MonitorView:
    """The graphs at a moment. values: of the batch, for what could be added."""
    graphs = [
        _graph(one, place if chosen else None, asked, entities, series)
        for place, one in enumerate(asked)
    ]
    return MonitorView(graphs, _choices(asked, entities, values), chosen, address(asked))


def _graph(
    one: Asked,
    place: int | None,
    asked: Sequence[Asked],
    entities: Book,
    series: Mapping[Key, SeriesData],
) -> Picked:
    about = registry.KNOWN.properties.get(one.name)
    unit = about.unit if about else ""
    query = entities[one.entity] if entities.role(one.entity) == "query" else None
    known_as = entities.name(one.entity) if one.entity in entities else one.told
    whose = one.title or known_as.removeprefix(QUERY_NAMED)
    return Picked(
        one.entity,
        one.name,
        whose,
        about.meaning if about else "",
        form_of(unit),
        shown_unit(unit),
        points(series.get(one.key)),
        address([other for other in asked if other != one]),
        place,
        query.name if query is not None and one.name == ANSWER else "",
        str(query.properties.get("text", "")) if query is not None else "",
    )


def _choices(asked: Sequence[Asked], entities: Book, values: Values) -> dict[str, str]:
    """Every number there is that is not drawn yet, by name."""
    found: dict[str, str] = {}
    keys = {one.key for one in asked}
    for entity, own in values.items():
        if entity not in entities:
            continue
        whose = entities.name(entity)
        for name, value in own.items():
            if (entity, name) not in keys and value is not None and known(value):
                words = f"{whose} · {words_of(name)}"
                if words in found:
                    words = f"{words} ({entity}, {name})"
                found[words] = f"{entity}{_PARTS}{name}"
    return dict(sorted(found.items())[:MOST_CHOICES])
