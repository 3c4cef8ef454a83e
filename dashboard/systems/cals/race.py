"""The race of shedding algorithms: what each would have left of a window, on the Shedding page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.systems.cals.history import PAGE, RACE, matrices_of
from dashboard.views.book import Book
from storage.reader import Reader
from storage.tables.rows import StoredMatrix
from storage.vocabulary.cals import RACE_COLUMNS

NOTE: Final = "with the tuples that are kept now, on the same runs; 95 % intervals"


class RacedLine(NamedTuple):
    """An algorithm: accuracy of what it would have left, what it gains over the one in force, and
    half of their 95 % intervals."""

    algorithm: str
    accuracy: float
    half: float
    gain: float
    gain_half: float
    in_force: bool


class WindowRace(NamedTuple):
    """The race of a window after a batch, the most accurate first. n: runs that it was held on."""

    id: str
    title: str
    batch: int
    n: int
    lines: tuple[RacedLine, ...]


def build_races(book: Book, stored: Mapping[str, StoredMatrix]) -> list[WindowRace]:
    """By queries. stored: the newest race of each window."""
    races = []
    for id, newest in stored.items():
        matrix = newest.matrix
        rows = zip(matrix.rows, matrix.values, matrix.row_stats["in_force"], strict=True)
        lines = tuple(
            _raced(name, dict(zip(matrix.columns, row, strict=True)), now)
            for name, row, now in rows
        )
        n = max(matrix.row_stats["n"], default=0)
        races.append(WindowRace(id, book.title(id), newest.batch, n, lines))
    return sorted(races, key=lambda race: (race.title, race.id))


def _raced(algorithm: str, own: Mapping[str, float], in_force: bool) -> RacedLine:
    accuracy, half, gain, gain_half = (own[name] for name in RACE_COLUMNS)
    return RacedLine(algorithm, accuracy, half, gain, gain_half, in_force)


def build(reader: Reader, context: Context, scope: PanelScope) -> list[WindowRace] | None:
    """None before algorithms were compared."""
    book = Book(reader.entities(context.run_id, context.batch), scope.unit)
    return build_races(book, matrices_of(reader, context, scope, book, RACE)) or None


def draw(races: Sequence[WindowRace], sheet: Sheet) -> Drawing:
    """A bar for each algorithm; the table twin: their numbers."""
    body = html.Div([_race(race) for race in races], className="pw-shed-race")
    return Drawing(static(body), table=_table(races), note=NOTE)


def _race(race: WindowRace) -> Component:
    where = f" as of batch {race.batch}, on {show(race.n, 'int')} runs"
    title = html.H3([race.title, html.Span(where, className="pw-dim")])
    return html.Section([title, html.Ul([_line(line) for line in race.lines])])


def _line(line: RacedLine) -> Component:
    low, high = max(0.0, line.accuracy - line.half), min(1.0, line.accuracy + line.half)
    band = {"left": f"{100 * low:.2f}%", "width": f"{100 * (high - low):.2f}%"}
    words = f"{show(low, 'f2')} to {show(high, 'f2')}"
    label = f"{line.algorithm}: accuracy {show(line.accuracy, 'f2')}, {words}"
    bar = html.Div(
        [
            html.I(className="pw-race-bar", style={"width": f"{100 * line.accuracy:.2f}%"}),
            html.I(className="pw-shed-band", style=band, hidden=not line.half),
        ],
        className="pw-shed-scale",
        role="img",
        **attrs(aria_label=label),
    )
    name = html.B([line.algorithm, " ", badge("in force", "info") if line.in_force else ""])
    gain = "" if line.in_force else _gain(line)
    return html.Li(
        [name, bar, html.Span(show(line.accuracy, "f2")), html.Span(gain, className="pw-dim")],
        **attrs(data_algorithm=line.algorithm, data_in_force="1" if line.in_force else None),
    )


def _gain(line: RacedLine) -> str:
    sign = "+" if line.gain >= 0 else "−"
    spread = f" ± {show(line.gain_half, 'f2')}" if line.gain_half else ""
    return f"{sign}{show(abs(line.gain), 'f2')}{spread}"


_COLUMNS: Final = (
    TableColumn("Query"),
    TableColumn("Algorithm"),
    TableColumn("Accuracy", "f3", "", "of what it would have left"),
    TableColumn("±", "f3", "", "half of the 95 % interval"),
    TableColumn("Gain", "f3", "", "over the one in force, on the same runs"),
    TableColumn("± of it", "f3"),
)


def _table(races: Sequence[WindowRace]) -> Component:
    rows: list[list[CellData]] = []
    for race in races:
        for line in race.lines:
            marks = [["in force", "info"]] if line.in_force else []
            name: CellData = {"text": line.algorithm, "badges": marks}
            rows.append([race.title, name, *line[1:5]])
    return RowTable("Race of the algorithms", _COLUMNS, rows)


PANEL: Final = Panel(
    name="shed-race",
    page=PAGE,
    title="Race of the algorithms",
    sql=records.matrices(RACE),
    build=build,
    draw=draw,
    applies=has_matrix(RACE),
    news=("run", "plans", "matrices"),
    beats=True,
    unit=True,
)
