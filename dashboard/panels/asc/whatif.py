"""What-if μ: a slider decides the recorded run again; apply takes it live."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from dash import Dash, dcc, html
from dash.development.base_component import Component

from dashboard.components.badges import badge
from dashboard.components.drawn import NAMESPACE, Drawn, knob_row
from dashboard.components.formats import clock, show
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to, known
from dashboard.context import Context
from dashboard.figures.whatif import HEIGHT, draw_ghost
from dashboard.panels import records
from dashboard.panels.common.timeline import clicks
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.facts import knobs_of
from dashboard.services import Services
from dashboard.turns import MAX_DECISIONS, trials_of
from dashboard.views.decisions import MIN_SAMPLES
from dashboard.views.ghost import APPEARS, COMMON, VANISHES, GhostComparison, compare, effect
from dashboard.views.whatif import GhostStep, redecide
from storage.reader import Reader
from storage.vocabulary.records import Knob

SLIDER: Final = "pw-whatif-mu"
CLICK: Final = "pw-whatif-click"
#: Rows of the table.
MAX_ROWS: Final = 200
KNOB: Final = "mu"
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


class GhostRun(NamedTuple):
    """The recorded run decided again. knob: μ in force; mu: the one tried."""

    knob: Knob
    mu: float
    steps: list[GhostStep]
    compared: GhostComparison


def build(reader: Reader, context: Context, scope: PanelScope) -> GhostRun | None:
    """The ghost run; while frozen, of what was known at the frozen moment. The μ tried is in the
    URL: ``show=0.3``."""
    run = context.run_id
    until = context.batch if context.mode == "frozen" else None
    knob = knobs_of(reader, run, until, scope).get(KNOB)
    trials = trials_of(reader, run, until, scope.only)
    if knob is None or not trials:
        return None
    tried = _number(context.moment.show)
    mu = float(knob.value) if tried is None else tried
    steps = redecide(trials, {KNOB: mu})
    return GhostRun(knob, mu, steps, compare(steps, MIN_SAMPLES))


def draw(ghost: GhostRun, sheet: Sheet) -> Drawing:
    """Both runs over time and in numbers."""
    return Drawing(
        body=ghost_numbers(ghost.compared, f"μ = {ghost.mu:g}", ghost.steps),
        figure=draw_ghost(ghost.steps, f"μ = {ghost.mu:g}", sheet.theme),
        height=HEIGHT,
        table=ghost_table(ghost.steps, sheet.context),
        note=[badge("estimated"), f" {NOTE}"],
        sets=(sheet.context.run_id, knob_row(ghost.knob), sheet.locked),
    )


def _number(text: str | None) -> float | None:
    """A μ of the URL; None for what is none."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def ghost_numbers(compared: GhostComparison, tried: str, steps: list[GhostStep]) -> list[Component]:
    """Both runs side by side, and what that rests on."""
    here = f"at {tried}"
    thin = f"not enough samples (n={show(compared.n, 'int')} < {MIN_SAMPLES})"
    real, ghost = compared.real, compared.ghost
    columns = (TableColumn("Run"), *(_COLUMNS))
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
    TableColumn("Visits per tuple", "f3", "", "on the sampled tuples of each evaluation"),
    TableColumn("Saved", None, "visits/tuple", "with its 95 % interval over the evaluations"),
    TableColumn("Rearrangements", "int"),
    TableColumn(
        "Plans built", "int", "", "rearrangements and plans that were built and not adopted"
    ),
)


def _saved(compared: GhostComparison) -> str:
    saved = compared.saved
    if saved is None:
        return ""
    if saved.low == saved.high == 0:
        return "the same plans throughout"
    low, high = f"{saved.low:+.3f}", f"{saved.high:+.3f}"
    return f"{saved.mean:+.3f} ({low} … {high})".replace("-", "−")


def _evidence(compared: GhostComparison, thin: str, steps: list[GhostStep]) -> Component:
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


def ghost_table(steps: list[GhostStep], context: Context) -> Component:
    """Both runs evaluation by evaluation."""
    columns = (
        TableColumn("Batch", "int"),
        TableColumn("Time", "text", "UTC"),
        TableColumn("Effect"),
        TableColumn("As recorded"),
        TableColumn("Ghost"),
        TableColumn("Recorded", "f3", "visits/tuple"),
        TableColumn("Ghost", "f3", "visits/tuple"),
        TableColumn("n", "int", "sampled"),
        TableColumn("Why"),
    )
    rows = [_row(step, context) for step in reversed(steps[-MAX_ROWS:])]
    words = "Evaluations of both runs, newest first; costs are estimates on the sampled tuples"
    return RowTable(words, columns, rows, total=len(steps))


def _row(step: GhostStep, context: Context) -> list[CellData]:
    trial = step.trial
    link = jump_to(context, "/decisions", at=trial.batch, node=str(trial.seq))
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


def _controls(context: Context, services: Services) -> list[Component]:
    return [dcc.Store(id=CLICK), MuGhost(SLIDER, _number(context.moment.show))]


def _register(app: Dash, services: Services) -> None:
    clicks(app, PANEL.part("graph"), CLICK)


PANEL: Final = Panel(
    name="whatif",
    page="/timeline",
    title="What if μ",
    sql=records.DECISIONS,
    build=build,
    draw=draw,
    applies=has_role("selection"),
    news=HISTORY,
    whole=True,
    unit=True,
    show=True,
    chart="Visits per tuple as recorded and of the ghost run, and rearrangements of both",
    controls=_controls,
    sets=((SLIDER, "run"), (SLIDER, "knob"), (SLIDER, "disabled")),
    register=_register,
)
