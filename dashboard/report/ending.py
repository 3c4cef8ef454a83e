"""What a run would go on from, and how it ended, read from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dashboard.views.book import SYSTEM
from dashboard.views.ends import IN_MEMORY, Checkpoint, Ending, ending
from dashboard.views.gaps import gaps_of
from storage.reader import Reader
from storage.vocabulary.records import Run

#: Last words shown.
LAST_LINES: Final = 5


def checkpoint_of(reader: Reader, run: Run, batch: int | None) -> Checkpoint:
    """What the run would go on from after a batch."""
    values = reader.values(run.id, batch)
    systems = [
        values.get(entity.id, {})
        for entity in reader.entities(run.id, batch)
        if entity.role == "system"
    ]
    gaps = gaps_of(reader.events(run.id, until=batch, kinds=("run",)))
    first, begun = (gaps[-1].batch, gaps[-1].until) if gaps else (0, run.started_at)
    begin = reader.batch(run.id, first)
    return Checkpoint(
        batch=batch,
        kept_bytes=_sum(systems, "kept_bytes"),
        state_bytes=_sum(systems, "state_bytes"),
        commit_ms=values.get(SYSTEM, {}).get("commit_ms"),
        start_s=None if begin is None else max(0.0, begin.time - begun),
        in_memory=run.settings.get("master") == IN_MEMORY,
    )


def _sum(systems: Sequence[Mapping[str, float | None]], name: str) -> float:
    return sum(filter(None, (own.get(name) for own in systems)))


def ending_of(reader: Reader, run: Run) -> Ending | None:
    """How the run ended unasked, as far as it is on record."""
    lines = reader.log_lines(run.id, LAST_LINES, None)
    store = reader.where if "://" in reader.where else str(Path(reader.where).absolute())
    return ending(run, lines, checkpoint_of(reader, run, reader.last_batch(run.id)), store)
