"""A run of an operator network made by the real engine, without Spark: trips and the weather."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa

from backend.model.ids import entity_id
from backend.model.schema import Schema
from backend.workloads.stored import StoredRelation
from tests.engine_runs import EngineRun

UNIT: Final = "stream.network"
TRIPS: Final = Schema.parse("t bigint, zone int, fare int")
WEATHER: Final = Schema.parse("t bigint, zone int, rain int")
ZONES: Final = Schema.parse("zone int, name string")
NAMES: Final = ("Airport", "Harbour", "Old town", "University")
#: Windows of two sizes that share a store, joins above them, a query over a query, SysStream.
TEXTS: Final = {
    "cheap": "Select * From Trips Where fare < 8",
    "busy": "Select zone, count(*) As n, avg(fare) As fare From Trips [Range 60] Group By zone",
    "named": "Select Z.name, B.n From busy As B, Zones As Z Where B.zone = Z.zone",
    "wet": "Select Istream(T.zone, T.fare) From Trips [Range 30] As T, "
    "Weather [Partition By zone Rows 1] As W Where T.zone = W.zone and W.rain = 1",
    "together": "Select T.fare, W.rain From Trips [Range 60] As T, Weather [Range 120] As W "
    "Where T.zone = W.zone and T.fare > 20",
    "zones": "Select Distinct zone From Trips [Rows 20]",
    "waiting": "Select eid, max(val) As most From SysStream [Range 60 seconds] "
    "Where prop = 'queue_peak_tuples' Group By eid",
}
SECONDS: Final = 20


class StreamRun(EngineRun):
    """A running run of two streams in time and a stored relation; it answers commands."""

    def __init__(self, path: Path, run_id: str, **knobs: object) -> None:
        names = {"zone": pa.array(range(4), pa.int32()), "name": list(NAMES)}
        super().__init__(
            path,
            {"Trips": TRIPS, "Weather": WEATHER},
            TEXTS,
            knobs,
            run_id=run_id,
            timestamps={"Trips": "t", "Weather": "t"},
            stored={"Zones": StoredRelation("Zones", ZONES, pa.table(names))},
        )

    def seconds(self, n_batches: int = 1) -> Self:
        """Batches of SECONDS ticks: twelve trips a tick in a burst, else four; rain moves about."""
        for _ in range(n_batches):
            first = self.batch_id * SECONDS
            ticks = range(first, first + SECONDS)
            rides = [trip for t in ticks for trip in trips(t)]
            weather = [
                {"t": t, "zone": t // 5 % 4, "rain": int(t // 10 % 3 == 0)} for t in ticks[::5]
            ]
            self.batch({"Trips": rides, "Weather": weather})
        return self


def trips(t: int) -> list[dict[str, Any]]:
    """The trips of a tick."""
    return [_trip(t, n) for n in range(12 if t % SECONDS < 5 else 4)]


def _trip(t: int, n: int) -> dict[str, Any]:
    return {"t": t, "zone": (7 * t + 3 * n) % 4, "fare": (13 * t + 11 * n) % 37 + 3}


def query_entity(query: str, unit: str = UNIT) -> str:
    """The entity of a query of the network."""
    return entity_id(unit, "query", query)
