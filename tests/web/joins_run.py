"""A run of a four-way join made by the real engine, without Spark: caches that bid for a pool."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

import numpy as np

from backend.model.schema import Schema
from tests.engine_runs import EngineRun

UNIT: Final = "stream.network"
SCHEMAS: Final = {
    "R": Schema.parse("t bigint, a int"),
    "S": Schema.parse("t bigint, a int, b int"),
    "T": Schema.parse("t bigint, b int, c int"),
    "U": Schema.parse("t bigint, c int"),
}
TEXTS: Final = {
    "four": "Select R.a, S.b, T.c From R [Rows 40], S [Rows 400], T [Rows 200], U [Rows 100] "
    "Where R.a = S.a and S.b = T.b and T.c = U.c"
}
#: Decisions soon, at costs that do not depend on the machine.
KNOBS: Final = {
    "join_costs": "counted",
    "interval_tuples": 2000,
    "window_observations": 2,
    "join_profile_prob": 0.2,
    "pool_bytes": 65_536,
}
TICKS: Final = 250
N_VALUES: Final = {"a": 400, "b": 100, "c": 50}
SKEWED: Final = ("T", "b")


class JoinsRun(EngineRun):
    """A running run of four streams of keys; it answers commands."""

    def __init__(self, path: Path, run_id: str, continues: bool = False, **knobs: object) -> None:
        super().__init__(
            path,
            SCHEMAS,
            TEXTS,
            {**KNOBS, **knobs},
            run_id=run_id,
            continues=continues,
            timestamps=dict.fromkeys(SCHEMAS, "t"),
        )

    def ticks(self, n_batches: int = 1, r_times: int = 1) -> Self:
        """Batches of TICKS ticks: four of T a tick, one of U, one of S every other, one of R every
        fourth, ``r_times`` as many in a burst."""
        for _ in range(n_batches):
            first = self.batch_id * TICKS
            self.batch(keyed(range(first, first + TICKS), r_times))
        return self


def keyed(ticks: range, r_times: int) -> dict[str, list[dict[str, int]]]:
    """The tuples of some ticks."""
    times = {
        "R": [t for t in ticks if t % 4 == 0 for _ in range(r_times)],
        "S": [t for t in ticks if t % 2 == 0],
        "T": [t for t in ticks for _ in range(4)],
        "U": list(ticks),
    }
    rng = np.random.default_rng(ticks.start)
    found = {}
    for name, told in times.items():
        rows: list[dict[str, int]] = [{"t": t} for t in told]
        for key in SCHEMAS[name].names[1:]:
            weights = np.arange(1, N_VALUES[key] + 1) ** -(1.0 if (name, key) == SKEWED else 0.0)
            drawn = rng.choice(len(weights), len(told), p=weights / weights.sum())
            for row, value in zip(rows, drawn.tolist(), strict=True):
                row[key] = value
        found[name] = rows
    return found
