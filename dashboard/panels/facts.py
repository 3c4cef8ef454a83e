"""What the store has of a run: the scope of a panel, and the facts by which panels apply."""

from __future__ import annotations

from typing import Any

from dashboard.base.context import Context
from dashboard.base.face import faces
from dashboard.panels.contract import Panel, PanelScope, RunFacts
from dashboard.views.book import Book
from dashboard.views.planlog import has_looks
from storage.reader import Reader
from storage.tables.rows import StoredMatrix
from storage.vocabulary.records import Knob


def scope_of(
    panel: Panel[Any], context: Context, reader: Reader, values: tuple[Any, ...] = ()
) -> PanelScope:
    """What a panel is about at the moment: the unit of the URL, else the first with records that
    its page shows, if it is about one."""
    units = reader.units(context.run_id, context.batch) if context.run is not None else ()
    shown = _unit_shown(panel, context, reader, [unit.id for unit in units]) if panel.unit else ""
    return PanelScope(shown, units, values)


def _unit_shown(panel: Panel[Any], context: Context, reader: Reader, units: list[str]) -> str:
    """The same for all panels of a page."""
    if context.moment.unit in units:
        return context.moment.unit
    of_systems = (other for face in faces() for other in face.panels if other.unit)
    applying = [panel.applies, *(other.applies for other in of_systems if other.page == panel.page)]
    for unit in units if len(units) > 1 else ():
        facts = read_facts(context, reader, unit)
        if any(applies(facts) for applies in applying):
            return unit
    return next(iter(units), "")


def read_facts(context: Context, reader: Reader, unit: str = "") -> RunFacts:
    """Facts of the run as of the moment, or of one unit of it."""
    run = context.run_id
    if context.run is None:
        return RunFacts()
    decided = reader.decision_counts(run, unit=unit or None).evaluated > 0
    return RunFacts(
        running=context.running,
        roles=frozenset(e.role for e in Book(reader.entities(run, context.batch), unit).values()),
        matrices=frozenset(key.kind for key in reader.matrix_keys(run, unit or None)),
        decided=decided,
        looked=decided and has_looks(reader, run, unit or None),
    )


def newest_matrices(
    reader: Reader, run: str, kind: str, at: int | None, scope: PanelScope
) -> list[StoredMatrix]:
    """The newest matrix up to a batch of each name of a kind, of the unit shown."""
    names = [key.name for key in reader.matrix_keys(run, scope.only) if key.kind == kind]
    matrices = [reader.matrix(run, name, at, scope.only) for name in names]
    return [matrix for matrix in matrices if matrix is not None]


def knobs_of(reader: Reader, run: str, at: int | None, scope: PanelScope) -> dict[str, Knob]:
    """Knobs by name: the engine's and those of the unit shown, or of all when none is."""
    knobs = reader.knobs(run, at)
    return {k.name: k for k in knobs if not scope.unit or k.scope in (scope.unit, "")}
