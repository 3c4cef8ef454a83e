"""The store as a list of records: slow, obvious, and what the real one is compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from storage.vocabulary import registry
from storage.vocabulary.records import BatchRecord, Decision, Entity, Knob, Matrix, PlanVersion


@dataclass
class SlowStore:
    """Everything recorded of one run, in the order of recording, with its batch position."""

    entries: list[tuple[int, BatchRecord]] = field(default_factory=list)

    def write(self, record: BatchRecord) -> bool:
        """Remember a record unless its batch (its time, for a boundary) already is."""
        batch = record.batch
        for _, old in self.entries:
            same = old.batch.id == batch.id
            if same and (batch.id is not None or old.batch.time == batch.time):
                return False
        position = self.last_batch() if batch.id is None else batch.id
        self.entries.append((-1 if position is None else position, record))
        return True

    def last_batch(self) -> int | None:
        """The newest executed batch."""
        return max((r.batch.id for _, r in self.entries if r.batch.id is not None), default=None)

    def upto(self, at: int | None) -> list[tuple[int, BatchRecord]]:
        """What was recorded up to batch ``at``."""
        return [(p, r) for p, r in self.entries if at is None or p <= at]

    def values(self, at: int | None) -> dict[str, dict[str, float | None]]:
        """Entity -> property -> the value recorded last."""
        now = self.last_batch() if at is None else at
        found: dict[str, dict[str, float | None]] = {}
        for position, record in self.upto(at):
            for sample in record.samples:
                found.setdefault(sample.entity, {})[sample.property] = sample.value
                if registry.KNOWN.properties[sample.property].absent_is_zero and position != now:
                    found[sample.entity][sample.property] = 0.0
        return found

    def stretch(self, at: int, length_s: int) -> list[int]:
        """The batches recorded in the same ``length_s`` seconds as batch ``at``."""
        times = {r.batch.id: r.batch.time for _, r in self.entries if r.batch.id is not None}
        return sorted(b for b, t in times.items() if t // length_s == times[at] // length_s)

    def averages(self, at: int, length_s: int) -> dict[str, dict[str, float | None]]:
        """values() at the end of the stretch of a batch; what is of the stretch, per batch of it,
        but for totals."""
        batches = self.stretch(at, length_s)
        found = self.values(batches[-1])
        for entity, own in found.items():
            for name in own:
                values = [v for _, v in self.series(entity, name, batches[0], batches[-1])]
                known = [v for v in values if v is not None]
                zero = registry.KNOWN.properties[name].absent_is_zero
                if values and not name.endswith("_total"):
                    n = len(batches) if zero else len(known)
                    own[name] = sum(known) / n if known else None
        return found

    def series(self, entity: str, name: str, first: int, last: int) -> list[tuple[int, Any]]:
        """(batch, value) of a property; the last word of each batch."""
        points: dict[int, float | None] = {}
        for position, record in self.entries:
            for sample in record.samples:
                if (sample.entity, sample.property) == (entity, name):
                    points[position] = sample.value
        return [(b, points[b]) for b in sorted(points) if first <= b <= last]

    def entities(self, at: int | None) -> list[Entity]:
        """The entities alive at batch ``at``, in their versions known by then."""
        told = [e for _, record in self.upto(at) for e in record.entities]
        known = {e.id: e for e in told if at is None or e.since_batch <= at}
        alive = []
        for name in sorted(known):
            entity = known[name]
            removed = math.inf if entity.removed_batch is None else entity.removed_batch
            if removed == math.inf if at is None else entity.since_batch <= at < removed:
                alive.append(entity)
        return alive

    def matrix(self, name: str, at: int | None, unit: str) -> Matrix | None:
        """The matrix of that name and unit recorded last."""
        mine = [m for _, r in self.upto(at) for m in r.matrices if m.unit_id == unit]
        found = [m for m in mine if m.name == name]
        return found[-1] if found else None

    def plan(self, at: int | None, unit: str) -> PlanVersion | None:
        """The plan of the unit in force."""
        plans = [p for _, r in self.entries for p in r.plans if p.unit_id == unit]
        known = [p for p in plans if at is None or p.batch <= at]
        return max(known, key=lambda p: (p.batch, p.version), default=None)

    def knobs(self, at: int | None) -> dict[tuple[str, str], Knob]:
        """(Scope, knob name) -> the value in force."""
        values = [k for _, r in self.entries for k in r.knobs if at is None or k.batch <= at]
        return {(k.scope, k.name): k for k in sorted(values, key=lambda k: k.version)}

    def decisions(self, until: int | None, unit: str | None) -> list[Decision]:
        """Decisions (of a unit) evaluated up to a batch, newest first."""
        found = [d for _, r in self.entries for d in r.decisions]
        found = [d for d in found if until is None or d.batch <= until]
        mine = [d for d in found if unit is None or d.unit_id == unit]
        return sorted(mine, key=lambda d: (d.batch, d.seq, d.unit_id), reverse=True)


def roll_up(points: list[tuple[int, float, float | None]], length_s: int) -> list[dict[str, Any]]:
    """One row a bucket of ``length_s`` seconds, of (batch, time, value) points in batch order."""
    buckets: dict[int, list[tuple[int, float, float | None]]] = {}
    for point in points:
        buckets.setdefault(int(point[1] // length_s) * length_s, []).append(point)
    rows = []
    for begin, members in sorted(buckets.items()):
        known = [value for _, _, value in members if value is not None]
        rows.append(
            {
                "bucket": begin,
                "batch_id": members[-1][0],
                "n": len(known),
                "min": min(known, default=None),
                "max": max(known, default=None),
                "mean": sum(known) / len(known) if known else None,
                "last": members[-1][2],
            }
        )
    return rows
