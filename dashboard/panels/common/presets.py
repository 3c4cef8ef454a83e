"""Sets of knob values: saved under a name, taken at one click, and back to how it was."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import faces
from dashboard.components.attributes import attrs
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.presets import PresetRow, beside, presets_of, saved_values
from storage.reader import Reader


class PresetsView(NamedTuple):
    """The presets beside the values in force, and these values as one would save them."""

    rows: list[PresetRow]
    now: list[dict[str, Any]]


def build(reader: Reader, context: Context, scope: PanelScope) -> PresetsView:
    """Presets of the run beside its knobs at the moment."""
    run = context.run_id
    knobs = reader.knobs(run, context.batch)
    shipped = {name: values for face in faces() for name, values in face.presets.items()}
    presets = presets_of(
        reader.noted("preset", run), reader.knob_history(run), reader.commands(run), shipped
    )
    return PresetsView(beside(run, presets, knobs), saved_values(knobs))


def draw(view: PresetsView, sheet: Sheet) -> Drawing:
    """One line a preset."""
    locked = sheet.locked
    columns = (TableColumn("Values"), TableColumn("What taking them turns"), TableColumn("Take"))
    rows = [_row(row, locked) for row in view.rows]
    save = html.Button(
        "Save the values in force as …",
        type="button",
        className="pw-button",
        disabled=bool(sheet.read_only),
        title=sheet.read_only or "A set of values to come back to",
        **attrs(data_pw_preset_save=json.dumps(view.now)),
    )
    table = RowTable("Knob presets", columns, rows, keys=[str(i) for i in range(len(rows))])
    return Drawing([table, html.P(save)], note="several turns at one click, each in the audit log")


def _row(row: PresetRow, locked: str) -> list[CellData]:
    words = "; ".join(row.differences) or "nothing: these are the values in force"
    return [row.name, words, drawn(html.Span(_buttons(row, locked)))]


def _buttons(row: PresetRow, locked: str) -> list[Component]:
    n = len(row.turns)
    take = html.Button(
        f"Take ({n} turn{'' if n == 1 else 's'})",
        type="button",
        className="pw-button",
        disabled=bool(locked) or not n,
        title=locked or None,
        **attrs(data_pw_preset=json.dumps(row.turns), data_pw_name=row.name),
    )
    if row.id is None:
        return [take]
    label = attrs(data_pw_forget=row.id, aria_label=f"Forget the values {row.name}")
    return [take, html.Button("×", type="button", className="pw-link", **label)]


PANEL: Final = Panel(
    name="presets",
    page="/knobs",
    title="Knob presets",
    sql=records.requests("preset"),
    twin=False,
    build=build,
    draw=draw,
    news=("run", "knobs", "commands"),
)
