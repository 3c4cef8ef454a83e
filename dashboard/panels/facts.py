"""What the store has of a run: the facts by which panels tell whether they apply."""

from __future__ import annotations

from dashboard.context import Context
from dashboard.panels.contract import RunFacts
from storage.reader import Reader


def read_facts(context: Context, reader: Reader) -> RunFacts:
    """Facts of the run, or of the unit shown, as of the moment."""
    run = context.run_id
    if context.run is None:
        return RunFacts()
    return RunFacts(
        running=context.running,
        roles=frozenset(entity.role for entity in reader.entities(run, context.batch)),
        matrices=frozenset(reader.matrix_kinds(run)),
        decided=reader.decision_counts(run).evaluated > 0,
    )
