"""What if k: a line dragged over the distances on record tells what another k would do."""

from __future__ import annotations

import math
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.badges import badge
from dashboard.components.drawn import PanelDrawing, knob_row
from dashboard.components.formats import show
from dashboard.components.rows import RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import knobs_of
from dashboard.systems.kmon.history import DISTANCES, counted, recent
from dashboard.systems.kmon.ledger import PAGE, endless, read_ledger, sent_line
from dashboard.systems.kmon.whatif_view import AT, BUDGET_KNOB, WhatIfView, build_whatif
from storage.reader import Reader

DRAWING: Final = "pw-k-whatif-drawing"


class KWhatIf(PanelDrawing):
    """The distances of a constraint with a k to drag over them (k_whatif.js)."""

    _type = "KWhatIf"


def build(reader: Reader, context: Context, scope: PanelScope) -> WhatIfView | None:
    """The constraint of the address, ``show=name@k``, else the one that saves most."""
    run, at = context.run_id, context.batch
    ledger = read_ledger(reader, context, scope, seen=())
    matrices = recent(reader, run, DISTANCES, at, scope.unit)
    if ledger is None or not matrices:
        return None
    counts = {line.id: counted(matrices, line.id) for line in ledger.lines}
    budget = knobs_of(reader, run, at, scope).get(BUDGET_KNOB)
    batches = (matrices[0].batch, matrices[-1].batch)
    return build_whatif(ledger.lines, counts, batches, context.moment.show or "", budget)


def draw(view: WhatIfView, sheet: Sheet) -> Drawing:
    """The distances and the k in use; the table twin: what each k would do."""
    return Drawing(
        table=_table(view),
        note=[badge("estimated"), f" from the distances of batches {view.first} to {view.last}"],
        sets=(sheet.context.run_id, _sent(view), sheet.locked),
    )


def _sent(view: WhatIfView) -> dict[str, Any]:
    sent = view._asdict()
    sent["line"] = sent_line(view.line._replace(dots=()))
    sent["rows"] = [row._asdict() for row in view.rows]
    sent["bins"] = [(low, end if math.isfinite(end) else None, n) for low, end, n in view.bins]
    sent["budget"] = None if view.budget is None else knob_row(view.budget)
    sent["at"] = AT
    return sent


_COLUMNS: Final = (
    TableColumn("k", "int", "tuples"),
    TableColumn("Above it", "int", "", "distances on record that are larger, at most"),
    TableColumn("Share", "pct"),
    TableColumn("95 % from", "pct"),
    TableColumn("95 % to", "pct"),
    TableColumn("Waits", "f2", "×", "in times of what waits now; it grows in proportion to k"),
)


def _table(view: WhatIfView) -> Component:
    rows = [
        [endless(row.k), row.above, row.share, row.low, row.high, row.waits] for row in view.rows
    ]
    return RowTable(
        f"What other k of {view.line.name} would do, over {show(view.n, 'int')} distances",
        _COLUMNS,
        rows,
    )


PANEL: Final = Panel(
    name="k-whatif",
    page=PAGE,
    title="What if k",
    sql=records.matrices(DISTANCES),
    build=build,
    draw=draw,
    applies=has_matrix(DISTANCES),
    values=True,
    news=("run", "plans", "matrices", "knobs"),
    beats=True,
    show=True,
    unit=True,
    controls=lambda context, services: [KWhatIf(DRAWING)],
    sets=KWhatIf.filled(DRAWING),
)
