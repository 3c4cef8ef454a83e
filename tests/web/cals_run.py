"""A run of a temporal query that sheds, by the real engine, without Spark: readings of humidity."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

import numpy as np

from backend.model.schema import Schema, ValidTimes
from tests.engine_runs import EngineRun

UNIT: Final = "cals.network"
READINGS: Final = Schema(
    Schema.parse("value int, since bigint, until bigint").attributes,
    valid=ValidTimes("since", "until", type="bigint"),
)
SHED: Final = "Select value, Valid(H) From H (value) [Rows 400] As H"
#: Readings of a batch; of these values.
READ: Final = 50
N_VALUES: Final = 6


class CalsRun(EngineRun):
    """A running run of one window; it answers commands."""

    def __init__(self, path: Path, run_id: str, **knobs: object) -> None:
        plain = {"damp": "Select value From H Where value > 900"}
        super().__init__(path, {"H": READINGS}, plain, run_id=run_id)
        self._knobs, self._rng, self._now = knobs, np.random.default_rng(3), 0

    def seconds(self, n_batches: int = 1) -> Self:
        """Batches of readings, each where the one before ends."""
        for _ in range(n_batches):
            if not self.batch_id:
                self.ask("query_add", {"name": "shed", "text": SHED, "system": "cals"})
            for knob, value in self._knobs.items() if self.batch_id == 1 else ():
                self.ask("knob", {"knob": knob, "value": value, "scope": UNIT})
            rows = []
            for _ in range(READ):
                if self._rng.random() > 0.75 or not self._now:
                    self._value = int(self._rng.integers(70, 70 + N_VALUES))
                until = self._now + int(self._rng.integers(1, 9))
                rows.append({"value": self._value, "since": self._now, "until": until})
                self._now = until
            self.batch(rows)
        return self
