"""What a panel is: one view of the records of a run, with its drawing and its table twin.

Adding one: a module with ``PANEL = Panel(...)`` and its place in the FACE of its system, or in the
PANELS of those of every run. Where it stands, when it is shown and when it is drawn again follow
from its fields (dashboard.panels.frame).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from dash import Dash, Input, State
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.serving.services import Services
from storage.reader import Reader
from storage.vocabulary.records import Knob, Unit

V = TypeVar("V")
News: TypeAlias = Literal[
    "run", "plans", "queries", "decisions", "matrices", "events", "knobs", "commands", "misfits"
]

#: News of panels that show the run as a whole.
HISTORY: tuple[News, ...] = ("plans", "decisions", "events", "knobs", "queries", "run")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the store has of a run, or of one unit of it: what panels and pages go by.

    roles: of its entities. matrices: kinds recorded. decided: something was evaluated; looked:
    it is in the plan log.
    """

    running: bool = False
    roles: frozenset[str] = frozenset()
    matrices: frozenset[str] = frozenset()
    decided: bool = False
    looked: bool = False


class PanelScope(NamedTuple):
    """What a panel is about. unit: id of the unit shown, '' = the run as a whole. units: all of the
    run. values: of the panel's own inputs, none when the page is laid out."""

    unit: str = ""
    units: tuple[Unit, ...] = ()
    values: tuple[Any, ...] = ()

    @property
    def only(self) -> str | None:
        """The unit to ask the store for; None = all."""
        return self.unit or None

    def title(self, unit: str) -> str:
        """What people call a unit, '' where a run has only one."""
        named = {unit.id: unit.title for unit in self.units} if len(self.units) > 1 else {}
        return named.get(unit, "")


class Sheet(NamedTuple):
    """What a view is drawn on. theme: 'light' or 'dark', None before the browser told. read_only:
    why this dashboard cannot change anything, or ''."""

    context: Context
    theme: str | None = None
    read_only: str = ""

    @property
    def locked(self) -> str:
        """Why knobs cannot be turned at this moment, or ''."""
        return self.read_only or self.context.why_no_control


class Drawing(NamedTuple):
    """A view as drawn: html and own drawings above and below a figure, its numbers as a table.

    figure: of plotly, None = no chart now; height: its pixels. note: beside the title. sets: values
    of the panel's ``sets``.
    """

    body: Any = ""
    figure: Any = None
    height: int = 0
    foot: Any = ""
    table: Any = ""
    note: Any = ""
    sets: tuple[Any, ...] = ()


class Ghost(Protocol):
    """Decides what is on record of a unit again under another value of a knob."""

    def knobs(self, reader: Reader, run: str, unit: str) -> frozenset[str]:
        """Names of the knobs it can do that for; none where nothing is on record of it."""

    def decided(self, reader: Reader, knob: Knob, value: Any, run: str, at: int) -> Any | None:
        """What the rule makes of the record from a batch on; None: nothing was evaluated."""

    def drawn(self, decided: Any, tried: str, sheet: Sheet) -> Drawing:
        """That beside the record. tried: the knob and its value, in words."""


def always(facts: RunFacts) -> bool:
    """A panel of every run."""
    return True


def has_matrix(kind: str) -> Callable[[RunFacts], bool]:
    """A panel of runs with matrices of this kind."""
    return lambda facts: kind in facts.matrices


def has_role(role: str) -> Callable[[RunFacts], bool]:
    """A panel of runs with entities of this role."""
    return lambda facts: role in facts.roles


@dataclass(frozen=True, slots=True)
class Panel(Generic[V]):
    """One panel of a page.

    name: unique; parts are called ``pw-<name>-<part>``. page: path of its page. build: the view at
    a moment, None hides the panel; reads the store and nothing else. draw: the view as html, figure
    and numbers. applies: whether a run has such records at all. news: kinds of records that draw it
    again. beats: it also follows plain batches. whole: it shows the run as a whole, so that the
    cursor of a replay changes nothing. show, span: it depends on those of the URL. unit: it is
    about one unit of the run. values: it shows values as of the moment, and says over what they are
    averages where those of the batch are no longer kept.

    title: '' for one that draws its own cards. twin: False without a table. chart: what a screen
    reader calls its plotly figure, '' without one. draws: it has drawings of its own, to be saved
    as those are. histories: among them charts of numbers over batches, which can be zoomed. side:
    it stands in the narrow column. controls: laid out once, not drawn again. inputs: properties
    of the controls, told to build as ``PanelScope.values``. sets: properties of the controls that
    draw gives. knobs: names of knobs whose cards stand below, under the heading knobs_title.
    register: further callbacks, once. sql: a query on the store with the records behind it,
    linked to the SQL page; it may name :run and :at.
    """

    name: str
    page: str
    build: Callable[[Reader, Context, PanelScope], V | None]
    draw: Callable[[V, Sheet], Drawing]
    applies: Callable[[RunFacts], bool] = always
    news: tuple[News, ...] = ("run", "plans")
    beats: bool = False
    whole: bool = False
    show: bool = False
    span: bool = False
    unit: bool = False
    values: bool = False
    title: str = ""
    twin: bool = True
    chart: str = ""
    draws: bool = False
    histories: bool = False
    side: bool = False
    className: str = ""
    controls: Callable[[Context, Services], Sequence[Component]] | None = None
    inputs: tuple[Input | State, ...] = ()
    sets: tuple[tuple[str, str], ...] = ()
    knobs: tuple[str, ...] = ()
    knobs_title: str = ""
    register: Callable[[Dash, Services], None] | None = None
    sql: str = ""

    def part(self, name: str) -> str:
        """Id of a part: box, body, graph, foot, note, table, key, watch, seen."""
        return f"pw-{self.name}-{name}"
