"""What the Monitor page shows: graphs of properties that people picked (STREAM's visualizer).

In the address a graph is ``entity|property`` or ``entity|property=title``, graphs have a ``~``
between them. A query may stand there by its name, as ``@name``: it is found in any run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.components.formats import Format
from dashboard.components.names import words_of
from dashboard.views.book import QUERY_NAMED, SYSTEM, Book
from dashboard.views.numbers import form_of, known, shown_unit
from dashboard.views.plan import Values, points
from storage.tables.rows import SeriesData
from storage.vocabulary import registry
from storage.vocabulary.records import Command

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
    """A graph as an address has it. owner: the entity as it stands there; entity: its id; title:
    what somebody called it, or ''."""

    owner: str
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


class Board(NamedTuple):
    """Graphs that somebody saved under a name, as an address has them. id: of the command that
    saved them."""

    name: str
    show: str
    id: int


class MonitorView(NamedTuple):
    """graphs: in the order they were picked. choices: name for people -> the graph as an address
    has it. chosen: somebody picked these. address: of what is drawn. boards: saved ones."""

    graphs: list[Picked]
    choices: dict[str, str]
    chosen: bool
    address: str
    boards: tuple[Board, ...] = ()


def boards_of(noted: Iterable[Command]) -> tuple[Board, ...]:
    """Saved boards, the newest of a name."""
    by_name: dict[str, Board] = {}
    for note in noted:
        name, show = str(note.payload["name"]), str(note.payload["body"].get("show", ""))
        by_name[name] = Board(name, show, note.id)
    return tuple(board for board in by_name.values() if board.show)


def picked(show: str | None, entities: Book) -> list[Asked]:
    """The graphs an address names, in their order, each once; without one the engine's."""
    if not show:
        return [Asked(SYSTEM, SYSTEM, name) for name in FIRST]
    graphs: dict[Key, Asked] = {}
    for part in show.split(_GRAPHS):
        owner, _, rest = part.rpartition(_PARTS)
        name, _, title = rest.partition(_TITLE)
        asked = Asked(owner, entities.addressed(owner), name, title)
        if owner and name:
            graphs.setdefault(asked.key, asked)
    return list(graphs.values())[:MOST_GRAPHS]


def address(graphs: Sequence[Asked]) -> str:
    """The ``show`` of an address for some graphs."""
    titled = ((graph, f"{_TITLE}{graph.title}" if graph.title else "") for graph in graphs)
    return _GRAPHS.join(f"{graph.owner}{_PARTS}{graph.name}{title}" for graph, title in titled)


def build_monitor(
    asked: Sequence[Asked],
    chosen: bool,
    entities: Book,
    values: Values,
    series: Mapping[Key, SeriesData],
) -> MonitorView:
    """The graphs at a moment. values: of the batch, for what could be added."""
    graphs = [
        _graph(graph, place if chosen else None, asked, entities, series)
        for place, graph in enumerate(asked)
    ]
    return MonitorView(graphs, _choices(asked, entities, values), chosen, address(asked))


def _graph(
    graph: Asked,
    place: int | None,
    asked: Sequence[Asked],
    entities: Book,
    series: Mapping[Key, SeriesData],
) -> Picked:
    about = registry.KNOWN.properties.get(graph.name)
    unit = about.unit if about else ""
    query = entities[graph.entity] if entities.role(graph.entity) == "query" else None
    known_as = entities.name(graph.entity) if graph.entity in entities else graph.owner
    whose = graph.title or known_as.removeprefix(QUERY_NAMED)
    return Picked(
        graph.entity,
        graph.name,
        whose,
        about.meaning if about else "",
        form_of(unit),
        shown_unit(unit),
        points(series.get(graph.key)),
        address([other for other in asked if other != graph]),
        place,
        query.name if query is not None and graph.name == ANSWER else "",
        str(query.properties.get("text", "")) if query is not None else "",
    )


def _choices(asked: Sequence[Asked], entities: Book, values: Values) -> dict[str, str]:
    """Every number there is that is not drawn yet, by name."""
    choices: dict[str, str] = {}
    keys = {graph.key for graph in asked}
    for entity, own in values.items():
        if entity not in entities:
            continue
        whose = entities.name(entity)
        for name, value in own.items():
            if (entity, name) not in keys and value is not None and known(value):
                words = f"{whose} · {words_of(name)}"
                if words in choices:
                    words = f"{words} ({entity}, {name})"
                choices[words] = f"{entity}{_PARTS}{name}"
    return dict(sorted(choices.items())[:MOST_CHOICES])
