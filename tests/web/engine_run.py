"""A run made by the real engine, without Spark: what its pages show is what the engine writes."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from backend.systems.asc.unit import SelectionUnit
from tests.engine_runs import EngineRun
from tests.unit.asc.stream import SCHEMA, Columns, a_filters, b_filters, tuples

UNIT = "asc.S"
#: The queries of tests.unit.asc.stream.
TEXTS = {
    "q1": "Select * From S Where a < 20 and b < 20",
    "q2": "Select * From S Where a < 18 and b < 15 and c < 50",
    "q3": "Select * From S Where a < 12 and b < 20 and d >= 50",
    "q4": "Select * From S Where a = 7 and b < 19 and c >= 30 and d < 70",
}
SMALL = {
    "lambda_tuples": 500,
    "tau_tuples": 500,
    "min_samples": 100,
    "cooldown_tuples": 0,
    "profile_prob": 0.5,
    "no_drop_visit_cost": 1.0,
    "mu": 0.05,
    "ordering": "hybrid",
    "stop_rule": "drop",
}


class SelectionRun(EngineRun):
    """A running run of four attributes; ``run`` feeds it tuples, and it answers commands."""

    def __init__(self, path: Path, run_id: str, **knobs: object) -> None:
        super().__init__(path, {"S": SCHEMA}, TEXTS, {**SMALL, **knobs}, run_id=run_id)

    @property
    def unit(self) -> SelectionUnit:
        """The unit of all queries."""
        found = self.loop.unit(UNIT)
        assert isinstance(found, SelectionUnit)
        return found

    def run(self, columns: Columns, batch_tuples: int = 250) -> Self:
        """Run the tuples in batches."""
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for start in range(0, len(rows), batch_tuples):
            self.batch(rows[start : start + batch_tuples])
        return self

    def drift(self) -> Self:
        """The filtering attribute moves twice."""
        self.run(a_filters(2000)).run(b_filters(2500))
        return self.run(a_filters(2000, 9)).run(tuples(1000, 5))
