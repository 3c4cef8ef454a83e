"""How a run is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from backend.engine.job import Branches
from backend.engine.run_log import RunLog
from storage.vocabulary.records import Json

#: Whether the newest run of the workload goes on where it can, or a new one begins in any case.
Begin: TypeAlias = Literal["go on", "fresh"]


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """master: Spark's. folder: for Spark's log and spill files, and prepared data. runs: where runs
    keep checkpoint, spool, state and default sink. once: take what is there, then end. conf:
    further settings of Spark, which come before ours. asked: knobs that were given for this start.
    progress: told (n, total) as queries are registered. branches, log, learned: as in RunJob."""

    master: str
    folder: Path
    runs: Path
    once: bool
    begin: Begin = "fresh"
    conf: Mapping[str, str] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    progress: Callable[[int, int], None] | None = None
    branches: Branches | None = None
    log: RunLog | None = None
    learned: Mapping[str, Sequence[Json]] = field(default_factory=dict)
