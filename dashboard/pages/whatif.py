"""What-if μ on the Timeline page: a slider decides the recorded run again; apply takes it live."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.badges import badge
from dashboard.components.charts import chart
from dashboard.components.drawn import NAMESPACE, Drawn, knob_row
from dashboard.components.formats import clock, show
from dashboard.components.panels import twinned
from dashboard.components.tables import Column
from dashboard.context import Context
from dashboard.figures.whatif import HEIGHT, draw_ghost
from dashboard.pages import knob_cards
from dashboard.pages.keys import clientside
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import CellData, RowTable, jump_to, known
from dashboard.services import Services
from dashboard.views.decisions import MIN_SAMPLES
from dashboard.views.ghost import APPEARS, COMMON, VANISHES, Comparison, compare, effect
from dashboard.views.whatif import Step, Trial, read_trials, redecide
from storage.reader import Reader
from storage.records import Knob

BOX: Final = "pw-whatif-box"
SLIDER: Final = "pw-whatif-mu"
GRAPH: Final = "pw-whatif-graph"
NUMBERS: Final = "pw-whatif-numbers"
TABLE: Final = "pw-whatif-table"
CLICK: Final = "pw-whatif-click"
#: Decisions read, newest ones, and rows of the table.
MAX_DECISIONS: Final = 1000
MAX_ROWS: Final = 200
KNOB: Final = "mu"
LABEL: Final = "Visits per tuple as recorded and of the ghost run, and rearrangements of both"
NOTE: Final = "the recorded run decided again with another μ, from its sampled tuples"
_EFFECTS: Final = {COMMON: "▲ in both", VANISHES: "✕ would vanish", APPEARS: "✚ would appear"}


class MuGhost(Drawn):
    """The slider of the ghost run (modules/page_whatif.js). knob: the row of μ, None without.

    value: the μ tried, None = the knob's. disabled: why it cannot be applied now, or ''.
    """

    _namespace = NAMESPACE
    _type = "MuGhost"
    _names = ("id", "run", "knob", "value", "disabled")

    def __init__(self, id: str, value: float | None) -> None:
        super().__init__(id=id, run="", knob=None, value=value, disabled="")


def layout(context: Context) -> Component:
    """The frame, hidden until a run has trials. The μ tried is in the URL: ``show=0.3``."""
    figure = [
        MuGhost(SLIDER, _number(context.moment.show)),
        part(NUMBERS, ""),
        chart(GRAPH, LABEL, height=HEIGHT),
    ]
    found = twinned("What if μ", figure, part(TABLE, ""), note=[badge("estimated"), f" {NOTE}"])
    return html.Div([dcc.Store(id=CLICK), found], id=BOX, hidden=True, className="pw-box")


def register(app: Dash, services: Services, key: str) -> None:
    """Decide again with the store ``key`` of the page, and when the slider comes to rest."""
    clientside(app, "timelineClick", Output(CLICK, "data"), Input(GRAPH, "clickData"))

    @app.callback(
        Output(BOX, "hidden"),
        Output(SLIDER, "run"),
        Output(SLIDER, "knob"),
        Output(SLIDER, "disabled"),
        Output(GRAPH, "figure"),
        part_output(NUMBERS),
        part_output(TABLE),
        Input(key, "data"),
        Input(ids.THEME, "data"),
        Input(SLIDER, "value"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _draw(
        key: Any, theme: str | None, value: float | None, moment: dict[str, Any] | None
    ) -> tuple[Any, ...]:
        found = contexts.of(services.reader, moment)
        knob, trials = recorded(found, services)
        mu = _tried(value, knob)
        steps = redecide(trials, mu)
        compared = compare(steps, MIN_SAMPLES)
        return (
            not trials or knob is None,
            found.run_id,
            knob_row(knob) if knob else None,
            knob_cards.is_locked(services, found),
            draw_ghost(steps, mu, theme),
            part_tree(NUMBERS, _numbers(compared, mu, steps)),
            part_tree(TABLE, _table(steps, found)),
        )


def recorded(context: Context, services: Services) -> tuple[Knob | None, tuple[Trial, ...]]:
    """μ in force and the trials; while frozen, only what was known at the frozen moment."""
    reader, run = services.reader, context.run_id
    until = context.batch if context.mode == "frozen" else None
    knobs = {knob.name: knob for knob in reader.knobs(run, until)}
    last = reader.decision_counts(run, until).evaluated
    return knobs.get(KNOB), _trials(reader, run, until, last)


@lru_cache(maxsize=8)
def _trials(reader: Reader, run: str, until: int | None, last: int) -> tuple[Trial, ...]:
    """The trials of the newest decisions. last: seq of the newest, so that news are read."""
    return tuple(read_trials(reader.decisions(run, until=until, limit=MAX_DECISIONS)))


def _number(text: str | None) -> float | None:
    """A μ of the URL; None for what is none."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _tried(value: float | None, knob: Knob | None) -> float | None:
    if value is not None:
        return float(value)
    return float(knob.value) if knob is not None else None


def _numbers(compared: Comparison, mu: float | None, steps: list[Step]) -> list[Component]:
    """Both runs side by side, and what that rests on."""
    here = "ghost" if mu is None else f"at μ = {mu:g}"
    thin = f"not enough samples (n={show(compared.n, 'int')} < {MIN_SAMPLES})"
    real, ghost = compared.real, compared.ghost
    columns = (Column("Run"), *(_COLUMNS))
    rows: list[list[CellData]] = [
        ["as recorded", known(real.visits, thin), "", real.switched, real.rebuilt],
        [here, known(ghost.visits, thin), _saved(compared), ghost.switched, ghost.rebuilt],
    ]
    words = "The recorded run and the ghost run, estimated"
    return [
        RowTable(words, columns, rows, className="pw-whatif-runs"),
        _evidence(compared, thin, steps),
    ]


_COLUMNS: Final = (
    Column("Visits per tuple", "f3", "", "on the sampled tuples of each evaluation"),
    Column("Saved", None, "visits/tuple", "with its 95 % interval over the evaluations"),
    Column("Rearrangements", "int"),
    Column("Plans built", "int", "", "rearrangements and plans that were built and not adopted"),
)


def _saved(compared: Comparison) -> str:
    saved = compared.saved
    if saved is None:
        return ""
    if saved.low == saved.high == 0:
        return "the same plans throughout"
    low, high = f"{saved.low:+.3f}", f"{saved.high:+.3f}"
    return f"{saved.mean:+.3f} ({low} … {high})".replace("-", "−")


def _evidence(compared: Comparison, thin: str, steps: list[Step]) -> Component:
    if compared.ghost.visits is None:
        return html.P(thin, className="pw-whatif-words")
    marks = (
        f"{compared.vanish} would vanish, {compared.appear} would appear, {compared.common} stay"
    )
    n = f"n = {show(compared.n, 'int')} sampled tuples of {show(compared.n_tuples, 'int')}"
    parts = [f"Rearrangements: {marks}", n]
    if len(steps) >= MAX_DECISIONS:
        parts.append(f"the last {show(len(steps), 'int')} evaluations")
    if compared.n_unknown:
        parts.append(f"{compared.n_unknown} evaluations cannot be told")
    if any(step.ghost_plan != step.real_plan and step.ghost_plan.digest for step in steps):
        parts.append("micro-arrows of plans long out of force count as macro-arrows")
    return html.P(" · ".join(parts), className="pw-whatif-words", role="status")


def _table(steps: list[Step], context: Context) -> Component:
    columns = (
        Column("Batch", "int"),
        Column("Time", "text", "UTC"),
        Column("Effect"),
        Column("As recorded"),
        Column("Ghost"),
        Column("Recorded", "f3", "visits/tuple"),
        Column("Ghost", "f3", "visits/tuple"),
        Column("n", "int", "sampled"),
        Column("Why"),
    )
    rows = [_row(step, context) for step in reversed(steps[-MAX_ROWS:])]
    words = "Evaluations of both runs, newest first; costs are estimates on the sampled tuples"
    return RowTable(words, columns, rows, total=len(steps))


def _row(step: Step, context: Context) -> list[CellData]:
    trial = step.trial
    link = jump_to(context, "/decisions", at=trial.batch, node=f"decision:{trial.seq}")
    why = "the plan was not costed on this sample"
    return [
        {"text": trial.batch, "jump": jump_to(context, at=trial.batch)},
        {"text": clock(trial.time), "sort": trial.time},
        _EFFECTS.get(effect(step) or "", ""),
        step.real.replace("_", " "),
        step.ghost.replace("_", " "),
        known(step.real_cost, why),
        known(step.ghost_cost, why),
        trial.n,
        {"text": "decision", "jump": link},
    ]
