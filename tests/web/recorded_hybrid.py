"""A recorded run under hybrid plans that goes back and forth between two orders: micro-arrows,
ways of sampled tuples, micro ratio and relative cost."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any, Final

from storage.vocabulary.records import Decision, Matrix, PlanVersion, Sample
from storage.writer import EngineWriter
from tests.web.recorded import Recording
from tests.web.recorded_parts import ATTRIBUTES, PERIOD_S

N_BATCHES: Final = 100
FIRST: Final = list(ATTRIBUTES)
SECOND: Final = ["distance", "dep_delay", *FIRST[3:], "origin"]
FLIPS: Final = {50: SECOND, 60: FIRST, 75: SECOND}
LABELS: Final = ("NULL", "(-inf, 15)", "= 15", "(15, 60)", "= 60", "(60, +inf)")


@dataclass
class HybridRecording(Recording):
    """As Recording, with hybrid plans."""

    def _plan(self, b: int, kind: str, reason: str, decision: int | None) -> PlanVersion:
        plan = super()._plan(b, kind, reason, decision)
        return replace(plan, kind="hybrid", hash="hybrid-" + plan.hash)

    def _decision(self, b: int, verdict: str, lhs: float, old: Any, new: Any) -> Decision:
        decision = super()._decision(b, verdict, lhs, old, new)
        return replace(decision, detail={"ordering": "hybrid", "paths": self._paths()})

    def _matrices(self, rng: random.Random) -> tuple[Matrix, ...]:
        return (*super()._matrices(rng), arrows(self.order))

    def _samples(self, b: int, rng: random.Random) -> tuple[tuple[Sample, ...], int]:
        samples, n_matched = super()._samples(b, rng)
        ratios = (
            Sample("system", "micro_ratio", 0.23, "prob"),
            Sample("system", "relative_cost", 0.914, ""),
        )
        return (*samples, *ratios), n_matched

    def _paths(self) -> list[dict[str, Any]]:
        values = {name: place * 10 for place, name in enumerate(self.order)}
        here = self.order
        dropped = [(here[0], 5, 8, "first"), (here[3], 3, 2, "micro"), (here[1], 1, 0, "macro")]
        matched = [(name, 1, 8 - place // 2, "macro") for place, name in enumerate(here)]
        return [
            {"values": values, "steps": [_step(*one) for one in dropped], "end": "dropped"},
            {"values": values, "steps": [_step(*one) for one in matched], "end": "matched"},
        ]


def _step(attribute: str, row: int, left: int, by: str) -> dict[str, Any]:
    return {"attribute": attribute, "row": row, "region": LABELS[row], "left": left, "by": by}


def arrows(order: list[str]) -> Matrix:
    """Six regions for each attribute; of the first four attributes two have a micro-arrow."""
    rng = random.Random(3)
    rows, values, stats = [], [], []
    for place, name in enumerate(order):
        shares = [rng.random() * 0.9**place for _ in LABELS]
        for row, label in enumerate(LABELS):
            target = place + row if place < 4 and row in (3, 5) else None
            gain = round(0.1 + 0.1 * rng.random(), 3) if target else None
            rows.append(f"{name}: {label}")
            values.append(tuple(gain if i == target else None for i in range(len(order))))
            hit = shares[row] / sum(shares) * 0.9**place
            followed = 0.8 * hit if target else 0.0
            stats.append((place, row, 40 + 10 * row if target else None, gain, hit, followed))
    names = ("place", "row", "support", "gain", "hit_prob", "followed_prob")
    columns = dict(zip(names, zip(*stats, strict=True), strict=True))
    return Matrix("arrows", "arrows", tuple(rows), tuple(order), tuple(values), "", 240, columns)


def record_hybrid(writer: EngineWriter, run_id: str, started_at: float) -> None:
    """Write the run; it has ended."""
    recording = HybridRecording(writer, run_id, started_at)
    recording.begin()
    for batch in range(N_BATCHES):
        recording.write(order=FLIPS.get(batch))
    writer.set_state(run_id, "ended", "the input ended", started_at + 6 + PERIOD_S * N_BATCHES)
