"""Up to where a run on Spark has come in its streams, for when it goes on."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from backend.hosts.agreement import Mark, write_whole
from backend.workloads.flushing import flush, flush_newest


class TakenSoFar:
    """Up to where each replayed input was processed, which inputs had ended, what networks read and
    which ran (a Mark), for a run that goes on after a crash: written before Spark commits the
    batch, so never behind it. What a batch that is run again finds here it finds again in its own
    tuples."""

    def __init__(self, path: Path, durable: bool) -> None:
        self._path, self._is_durable = path, durable
        state: dict[str, Any] = {"through": {}, "ended": [], "read": []}
        if path.exists():
            state = json.loads(path.read_text())
        self.through: Mapping[str, int] = state["through"]
        self.ended: frozenset[str] = frozenset(state["ended"])
        self.read: frozenset[str] = frozenset(state["read"])

    def write(
        self, mark: Mark, through: Mapping[str, int], ended: Collection[str], read: Collection[str]
    ) -> None:
        """Arrival numbers, by input: all tuples before them were taken."""
        state = {"through": dict(through), "ended": sorted(ended), "read": sorted(read)}
        write_whole(self._path, {**asdict(mark), **state}, self._is_durable)


def flush_plan(folder: Path) -> None:
    """Have on the disk what a batch that comes again needs: which tuples it has, and that the one
    before was committed."""
    for path in folder.glob("files-*.jsonl"):
        flush(path)
    for place in (folder, *(folder / "checkpoint").glob("sources/*")):
        flush_newest(place)
    for name in ("offsets", "commits"):
        flush_newest(folder / "checkpoint" / name)
