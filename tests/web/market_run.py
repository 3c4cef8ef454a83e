"""A run of a join with caches beside a window that sheds, by the real engine: both bid."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

from tests.engine_runs import EngineRun
from tests.web.cals_run import READINGS
from tests.web.cals_run import UNIT as SHEDDING
from tests.web.joins_run import KNOBS, SCHEMAS, TEXTS, TICKS, keyed

SHED: Final = "Select value, Valid(H) From H (value) [Rows 3000] As H"


class MarketRun(EngineRun):
    """A running run; it answers commands. Costs are counted: what is bid is the same each time."""

    def __init__(self, path: Path, run_id: str) -> None:
        super().__init__(
            path,
            {**SCHEMAS, "H": READINGS},
            TEXTS,
            KNOBS,
            run_id=run_id,
            timestamps=dict.fromkeys(SCHEMAS, "t"),
        )

    def ticks(self, n_batches: int = 1) -> Self:
        """Batches of TICKS ticks of the join, and two readings a tick of few values."""
        for _ in range(n_batches):
            if not self.batch_id:
                self.ask("query_add", {"name": "shed", "text": SHED, "system": "cals"})
                self.loop.idle()
                self.turn("state_form", "tuples")
            first = self.batch_id * TICKS
            starts = range(6 * first, 6 * (first + TICKS), 3)
            readings = [{"value": n // 9 % 5, "since": n, "until": n + 3} for n in starts]
            self.batch({**keyed(range(first, first + TICKS), 1), "H": readings})
        return self

    def total(self, role: str, name: str) -> float:
        """A property, as it is on record, of all of a role."""
        values = self.reader.values(self.run_id)
        ids = [each.id for each in self.reader.entities(self.run_id) if each.role == role]
        return sum(values.get(id, {}).get(name) or 0 for id in ids)

    def turn(self, name: str, value: float | str, scope: str = SHEDDING) -> None:
        """Ask for another value of a knob."""
        self.ask("knob", {"knob": name, "value": value, "scope": scope})
