"""The thrash detector: loops among the plans, with what would avoid them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import watching
from dashboard.components.badges import badge
from dashboard.components.formats import amount, show
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, jump_to, known, when
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet
from dashboard.panels.facts import knobs_of
from dashboard.views.thrash import DEFAULT_WINDOW, WINDOW_LAMBDAS, Flip, FlipLoop, find_loops
from storage.reader import Reader
from storage.tables.rows import DecisionEntry

#: Plan versions looked at, newest ones.
MAX_PLANS: Final = 200


def build(reader: Reader, context: Context, scope: PanelScope) -> list[FlipLoop] | None:
    """The loops; while frozen, only what was known at the frozen moment."""
    run, until = context.run_id, context.whole_until
    plans = reader.plans(run, until, scope.only)[-MAX_PLANS:]
    switched = ("switched",)
    entries = reader.decisions(
        run, until=until, verdicts=switched, limit=MAX_PLANS, unit=scope.only, brief=True
    )
    knob = knobs_of(reader, run, until, scope).get(watching().period)
    size = knob.value if knob is not None else None
    window = WINDOW_LAMBDAS * int(size) if isinstance(size, int | float) else DEFAULT_WINDOW

    def total(batch: int) -> int:
        return _total(reader.base, run, batch)

    turns = {knob.batch for knob in reader.knob_history(run, scope=scope.only) if knob.version > 0}
    return find_loops(plans, total, _by_seq(entries), window, turns) or None


def draw(loops: list[FlipLoop], sheet: Sheet) -> Drawing:
    """Each loop with its flips, newest first."""
    note = "the plan came back to one it had left; numbers are estimates"
    return Drawing([_loop(i, loop, sheet.context) for i, loop in _numbered(loops)], note=note)


def _numbered(loops: list[FlipLoop]) -> list[tuple[int, FlipLoop]]:
    """Newest first, each with its number on the timeline."""
    return list(enumerate(loops, start=1))[::-1]


def _by_seq(entries: tuple[DecisionEntry, ...]) -> dict[int, DecisionEntry]:
    return {entry.decision.seq: entry for entry in entries}


@lru_cache(maxsize=8 * MAX_PLANS)
def _total(reader: Reader, run: str, batch: int) -> int:
    """Tuples filtered before the batch; it never changes."""
    return reader.tuples_before(run, batch)


def _loop(number: int, loop: FlipLoop, context: Context) -> Component:
    head: list[Any] = [
        badge(f"↻ {number}", "warning"),
        html.B(f" {loop.route} "),
        _cost_words(loop),
    ]
    return html.Section(
        [html.P(head, className="pw-loop-head"), html.P(advice(loop)), _flips(loop, context)],
        className="pw-loop",
    )


def _cost_words(loop: FlipLoop) -> str:
    flips = f"{len(loop.flips)} flips"
    if loop.cost is None:
        return f"{flips}; what they cost together is not known"
    verb = "cost" if loop.cost > 0 else "saved"
    return f"{flips} that together {verb} {amount(abs(loop.cost), loop.unit)}"


def advice(loop: FlipLoop) -> str:
    """What would have avoided it, where that would have been better."""
    if loop.cost is None:
        return "Whether it was worth it is not known, so there is nothing to advise."
    if loop.cost <= 0:
        return "Going back and forth paid: the plans followed the stream. Nothing to change."
    ways = []
    if loop.mu is not None:
        ways.append(f"a μ above {loop.mu:.3g}")
    if loop.cooldown is not None:
        ways.append(f"a cool-down above {show(loop.cooldown, 'int')} tuples")
    if not ways:
        return "The record does not show what would have avoided it."
    words = " or ".join(ways)
    return f"{words[0].upper()}{words[1:]} would have avoided it (estimated from the record)."


def _flips(loop: FlipLoop, context: Context) -> Component:
    columns = (
        *WHEN,
        TableColumn("Plan", "int"),
        *(_TESTED if _by_threshold(loop) else ()),
        TableColumn("Since last flip", "int", "tuples"),
        TableColumn("In force for", "int", "tuples"),
        TableColumn("Cost", "si", loop.unit, "against the plan it replaced, while it was in force"),
        TableColumn("n", "int", "sampled"),
        TableColumn("Why"),
    )
    words = f"Flips of {loop.route}; negative cost = saved"
    tested = _by_threshold(loop)
    return RowTable(words, columns, [_flip(flip, context, tested) for flip in loop.flips])


_TESTED: Final = (
    TableColumn("Change", "f3", "", "left side of the trigger's inequality"),
    TableColumn("μ", "f3", "", "right side of the trigger's inequality"),
)


def _by_threshold(loop: FlipLoop) -> bool:
    """Whether its plans are changed by a trigger with a threshold."""
    return any(flip.change is not None for flip in loop.flips)


def _flip(flip: Flip, context: Context, tested: bool) -> list[CellData]:
    why: CellData = ""
    if flip.decision is not None:
        target = jump_to(context, "/decisions", at=flip.batch, node=str(flip.decision))
        why = {"text": "decision", "jump": target}
    return [
        *when(context, flip.batch, flip.time),
        flip.plan,
        *((flip.change, flip.mu) if tested else ()),
        known(flip.waited, "the first flip of the loop"),
        known(flip.lasted, "still in force"),
        known(flip.cost, flip.why),
        flip.n,
        why,
    ]


PANEL: Final = Panel(
    name="loops",
    page="/timeline",
    title="Oscillation",
    sql=records.PLANS,
    twin=False,
    build=build,
    draw=draw,
    news=HISTORY,
    whole=True,
    unit=True,
)
