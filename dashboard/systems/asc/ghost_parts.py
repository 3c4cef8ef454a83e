"""A recorded run beside one that was decided again: numbers, evidence, evaluation by evaluation."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.badges import badge
from dashboard.components.formats import clock, show
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, jump_to, known, when
from dashboard.panels.contract import Drawing, Sheet
from dashboard.panels.turns import MAX_DECISIONS
from dashboard.systems.asc.ghost_view import (
    APPEARS,
    COMMON,
    VANISHES,
    GhostComparison,
    compare,
    effect,
)
from dashboard.systems.asc.recorded_trials import REPLAYED, told
from dashboard.systems.asc.replay import PRICE, trials_of
from dashboard.systems.asc.whatif_figure import HEIGHT, draw_ghost
from dashboard.systems.asc.whatif_view import UNKNOWN, GhostStep, redecide
from dashboard.views.decisions import MIN_SAMPLES
from storage.reader import Reader
from storage.vocabulary.records import Knob

#: Rows of the table.
MAX_ROWS: Final = 200
_EFFECTS: Final = {COMMON: "▲ in both", VANISHES: "✕ would vanish", APPEARS: "✚ would appear"}


def ghost_numbers(compared: GhostComparison, tried: str, steps: list[GhostStep]) -> list[Component]:
    """Both runs side by side, and what that rests on."""
    here = f"at {tried}"
    thin = f"not enough samples (n={show(compared.n, 'int')} < {MIN_SAMPLES})"
    real, ghost = compared.real, compared.ghost
    columns = (TableColumn("Run"), *(_COLUMNS))
    rows: list[list[CellData]] = [
        [
            f"as recorded{_until(compared)}",
            known(real.visits, thin),
            "",
            real.switched,
            real.rebuilt,
        ],
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
        return "the same plans throughout" if compared.is_same else "plans that cost the same"
    low, high = f"{saved.low:+.3f}", f"{saved.high:+.3f}"
    return f"{saved.mean:+.3f} ({low} … {high})".replace("-", "−")


def _evidence(compared: GhostComparison, thin: str, steps: list[GhostStep]) -> Component:
    if compared.ghost.visits is None:
        return html.P(" · ".join([thin, *_undecided(compared)]), className="pw-whatif-words")
    n_real = compared.real.switched
    marks = (
        f"{compared.vanish} would vanish, {compared.appear} would appear, "
        f"{compared.common} of {show(n_real, 'int')} stay{_until(compared)}"
    )
    n = f"n = {show(compared.n, 'int')} sampled tuples of {show(compared.n_tuples, 'int')}"
    parts = [f"Rearrangements: {marks}", *_undecided(compared), n]
    if len(steps) >= MAX_DECISIONS:
        parts.append(f"the last {show(len(steps), 'int')} evaluations")
    if any(step.ghost_plan != step.real_plan and step.ghost_plan.digest for step in steps):
        parts.append("micro-arrows of plans long out of force count as macro-arrows")
    return html.P(" · ".join(parts), className="pw-whatif-words", role="status")


def _until(compared: GhostComparison) -> str:
    """Up to where both runs are told."""
    return "" if compared.until is None else f" until {clock(compared.until)}"


def _undecided(compared: GhostComparison) -> list[str]:
    """What comes after the ghost run has ended."""
    if not compared.n_unknown:
        return []
    n = show(compared.n_unknown, "int")
    later = "evaluations" if compared.until is None else "later evaluations"
    return [f"{n} {later} are not decidable: the record does not tell what the plan would cost"]


def ghost_table(steps: list[GhostStep], context: Context) -> Component:
    """Both runs evaluation by evaluation."""
    columns = (
        *WHEN,
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
        *when(context, trial.batch, trial.time),
        _EFFECTS.get(effect(step) or "", ""),
        step.real.replace("_", " "),
        "not decidable" if step.ghost == UNKNOWN else step.ghost.replace("_", " "),
        known(step.real_cost, why),
        known(step.ghost_cost, why),
        trial.n,
        {"text": "decision", "jump": link},
    ]


class DecidedAgain(NamedTuple):
    """The record decided again. knob: the one that was tried."""

    knob: str
    steps: list[GhostStep]
    compared: GhostComparison


class TrialGhost:
    """Selections, from the trials of their evaluations."""

    def knobs(self, reader: Reader, run: str, unit: str) -> frozenset[str]:
        return frozenset(REPLAYED) if trials_of(reader, run, None, unit) else frozenset()

    def decided(
        self, reader: Reader, knob: Knob, value: Any, run: str, at: int
    ) -> DecidedAgain | None:
        trials = trials_of(reader, run, None, knob.scope)
        from_here = told([trial for trial in trials if trial.batch >= at], knob.name)
        steps = redecide(from_here, {knob.name: value})
        return DecidedAgain(knob.name, steps, compare(steps, MIN_SAMPLES)) if steps else None

    def drawn(self, decided: DecidedAgain, tried: str, sheet: Sheet) -> Drawing:
        by = ", costs at the measured price" if decided.knob == PRICE else ""
        return Drawing(
            body=ghost_numbers(decided.compared, tried, decided.steps),
            figure=draw_ghost(decided.steps, tried, sheet.theme),
            height=HEIGHT,
            table=ghost_table(decided.steps, sheet.context),
            note=[badge("estimated"), f" the record decided again by the engine's own rule{by}"],
        )
