"""What is counted since a run began, over kills of it; and the engine's properties at a batch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from backend.model.ids import SYSTEM, unit_entity
from backend.operators.contract import BatchResult
from backend.systems.contract import Recorded
from storage.reading.resume import LastState
from storage.vocabulary.records import Json, Sample

Values = dict[str, tuple[float | None, str]]


@dataclass
class Totals:
    """tuples, matched, answered, misfits: of all batches; decisions: of all units, gone ones
    included. by_query: query -> tuples, as a killed run left them. evaluations: unit -> highest
    number of its decisions."""

    tuples: int = 0
    matched: int = 0
    misfits: int = 0
    decisions: int = 0
    answered: int = 0
    by_query: Mapping[str, int] = field(default_factory=dict)
    evaluations: dict[str, int] = field(default_factory=dict)
    last_end: float | None = None

    @classmethod
    def of(cls, last: LastState | None) -> Totals:
        """Those a killed run left; zeros for a new one."""
        if last is None:
            return cls()
        known = last.totals
        engine = known.get(SYSTEM, {})
        counts = {
            name: int(engine.get(f"{name}_total", 0))
            for name in ("tuples", "matched", "misfits", "decisions", "answered")
        }
        by_query = {
            entity.name: int(known[entity.id].get("matched_total", 0))
            for entity in last.entities
            if entity.kind == "query" and entity.id in known
        }
        evaluations = {
            unit.unit.id: int(
                known.get(unit_entity(unit.unit.id), {}).get("decisions_total", unit.last_seq)
            )
            for unit in last.units
        }
        return cls(**counts, by_query=by_query, evaluations=evaluations)

    def summary(self, sink: Mapping[str, Json]) -> str:
        """How much the run has answered, and where. sink: path and format of its own part."""
        if not self.answered:
            return f"no answers to {self.tuples} tuples"
        where = f"{sink['path']} ({sink['format']})"
        return f"{self.answered} answers to {self.tuples} tuples; they are in {where}"

    def count(self, result: BatchResult, recorded: Recorded) -> None:
        """Add a batch and what the units decided at it."""
        self.tuples += result.n_tuples
        self.matched += result.n_matched
        self.answered += _answered(result)
        self.misfits += result.n_misfits
        for decision in recorded.decisions:
            known = self.evaluations.get(decision.unit_id, 0)
            self.evaluations[decision.unit_id] = max(known, decision.seq)
            self.decisions += max(0, decision.seq - known)

    def evaluated(self) -> list[Sample]:
        """Evaluations of each unit since the run began."""
        return [
            Sample(unit_entity(id), "decisions_total", n, "decisions")
            for id, n in self.evaluations.items()
        ]

    def values(
        self,
        result: BatchResult,
        visits: float,
        selects: bool,
        commit_ms: float | None,
        store_bytes: int | None,
    ) -> Values:
        """The engine's properties at a batch: value, unit. visits: tuples that came to an operator,
        over all operators; selects: some query selects tuples; commit_ms: of the record before;
        store_bytes: of the store then."""
        n = result.n_tuples
        now, before = time.monotonic(), self.last_end
        self.last_end = now
        seconds = result.duration_ms / 1e3 if before is None else now - before
        backlogs = [input.backlog_tuples for input in result.inputs.values()]
        known = [backlog for backlog in backlogs if backlog is not None]
        return {
            "n_tuples": (n, "tuples"),
            "n_matched": (result.n_matched if selects else None, "tuples"),
            "n_answered": (_answered(result), "tuples"),
            "tuples_per_s": (n / seconds if seconds else None, "tuples/s"),
            "dropping_ratio": (1 - result.n_matched / n if n and selects else None, "prob"),
            "visits_per_tuple": (visits / n if n else None, "visits/tuple"),
            "batch_ms": (result.duration_ms, "ms"),
            "tuples_total": (self.tuples, "tuples"),
            "matched_total": (self.matched if selects else None, "tuples"),
            "answered_total": (self.answered, "tuples"),
            "misfits_total": (self.misfits, "tuples"),
            "decisions_total": (self.decisions, "decisions"),
            "backlog_tuples": (sum(known) if known else None, "tuples"),
            "commit_ms": (commit_ms, "ms"),
            "store_bytes": (store_bytes, "bytes"),
        }


def _answered(result: BatchResult) -> int:
    """Tuples and elements of the answers of all units."""
    return sum(unit.n_matched for unit in result.units.values())
