"""What the store has of a run: the scope of a panel, and the facts by which panels apply."""

from __future__ import annotations

from typing import Any

from dashboard.base.context import Context
from dashboard.panels.contract import Panel, PanelScope, RunFacts
from dashboard.views.book import Book
from storage.reader import Reader
from storage.vocabulary.records import Knob


def scope_of(
    panel: Panel[Any], context: Context, reader: Reader, values: tuple[Any, ...] = ()
) -> PanelScope:
    """What a panel is about at the moment: the unit of the URL, else the first, if it is about
    one."""
    units = reader.units(context.run_id, context.batch) if context.run is not None else ()
    ids = [unit.id for unit in units]
    first = context.moment.unit if context.moment.unit in ids else next(iter(ids), "")
    return PanelScope(first if panel.unit else "", units, values)


def read_facts(context: Context, reader: Reader, unit: str = "") -> RunFacts:
    """Facts of the run as of the moment, or of one unit of it."""
    run = context.run_id
    if context.run is None:
        return RunFacts()
    return RunFacts(
        running=context.running,
        roles=frozenset(e.role for e in Book(reader.entities(run, context.batch), unit).values()),
        matrices=frozenset(key.kind for key in reader.matrix_keys(run, unit or None)),
        decided=reader.decision_counts(run, unit=unit or None).evaluated > 0,
    )


def knobs_of(reader: Reader, run: str, at: int | None, scope: PanelScope) -> dict[str, Knob]:
    """Knobs by name: the engine's and those of the unit shown, or of all when none is."""
    found = reader.knobs(run, at)
    return {k.name: k for k in found if not scope.unit or k.scope in (scope.unit, "")}
