"""What-if μ: a slider decides the recorded run again; apply takes it live."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.badges import badge
from dashboard.components.drawn import NAMESPACE, Drawn, knob_row
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.facts import knobs_of
from dashboard.serving.services import Services
from dashboard.systems.asc.ghost_parts import ghost_numbers, ghost_table
from dashboard.systems.asc.ghost_view import GhostComparison, compare
from dashboard.systems.asc.replay import trials_of
from dashboard.systems.asc.whatif_figure import HEIGHT, draw_ghost
from dashboard.systems.asc.whatif_view import GhostStep, redecide
from dashboard.views.decisions import MIN_SAMPLES
from storage.reader import Reader
from storage.vocabulary.records import Knob

SLIDER: Final = "pw-whatif-mu"
KNOB: Final = "mu"
NOTE: Final = "the recorded run decided again with another μ, from its sampled tuples"


class MuGhost(Drawn):
    """The slider of the ghost run (whatif.js). knob: the row of μ, None without.

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
    run, until = context.run_id, context.whole_until
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


def _controls(context: Context, services: Services) -> list[Component]:
    return [MuGhost(SLIDER, _number(context.moment.show))]


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
)
