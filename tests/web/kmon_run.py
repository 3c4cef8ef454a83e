"""A run of a join under k-constraints by the real engine, without Spark: packets on two links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from backend.model.schema import Schema
from backend.systems.registry import KMON, STREAM
from backend.systems.stream.system import NetworkSystem
from tests.engine_runs import EngineRun

UNIT: Final = "kmon.network"
PACKETS: Final = replace(Schema.parse("t bigint, pid int, size int"), key=("pid",))
SCHEMAS: Final = {"C": PACKETS, "B": PACKETS}
TEXTS: Final = {
    "both": "Select C.pid, B.size From C [Range 4000], B [Range 4000] Where C.pid = B.pid"
}
#: Estimates and choices soon, and no wait for long.
KNOBS: Final = {"window_arrivals": 40}
TICKS: Final = 200
#: Ticks from one link to the other; one in so many packets of C goes on to B.
LATENCY, GOES_ON = (5, 15), 4


@dataclass(frozen=True)
class OnlyKMon(NetworkSystem):
    """k-Mon for queries that name no system."""

    is_default = True


class KMonRun(EngineRun):
    """A running run of two streams of packets; it answers commands. more: further queries."""

    def __init__(
        self,
        path: Path,
        run_id: str,
        more: Mapping[str, str] | None = None,
        sink: Path | None = None,
        **knobs: object,
    ) -> None:
        super().__init__(
            path,
            SCHEMAS,
            {**TEXTS, **(more or {})},
            {**KNOBS, **knobs},
            sink=sink,
            run_id=run_id,
            timestamps=dict.fromkeys(SCHEMAS, "t"),
            systems=(OnlyKMon(KMON.name, KMON.title, KMON.cores, KMON.needs), STREAM),
        )
        self._rng, self._on_the_way = np.random.default_rng(1), list[dict[str, Any]]()

    def seconds(self, n_batches: int = 1) -> Self:
        """Batches of TICKS ticks: two packets of C a tick; of B two, and those that come from C."""
        for _ in range(n_batches):
            first = self.batch_id * TICKS
            ticks = range(first, first + TICKS)
            c = [{"t": t, "pid": 4 * t + n, "size": 40} for t in ticks for n in range(2)]
            b = [{"t": t, "pid": 4 * t + n, "size": 90} for t in ticks for n in range(2, 4)]
            late = self._rng.integers(*LATENCY, len(c)).tolist()
            for packet, ticks_later in list(zip(c, late, strict=True))[::GOES_ON]:
                self._on_the_way.append({**packet, "t": packet["t"] + ticks_later})
            b += [one for one in self._on_the_way if one["t"] < first + TICKS]
            self._on_the_way = [one for one in self._on_the_way if one["t"] >= first + TICKS]
            self.batch({"C": c, "B": sorted(b, key=lambda one: one["t"])})
        return self
