"""New York's flights of 2013 as they lie in the data package: streams and relations, not joined.

Two streams in order of time, departures and weather, and three tables that do not change. Units are
those of ``backend.workloads.flights``; times are the wall clock of New York, written as if UTC. The
weather of a departure is that of its airport seen at its hour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from backend.model.schema import Schema
from backend.workloads.contract import arrow_schema, fit_table
from backend.workloads.flights import cached, data_folder, read_text, scheduled_departure

DEPARTURES: Final = Schema.parse(
    "sched_dep timestamp, dep_delay int, arr_delay int, carrier string, flight int,"
    " tailnum string, origin string, dest string, air_time int, distance int, hour timestamp"
)
WEATHER: Final = Schema.parse(
    "seen timestamp, origin string, temp double, dewp double, humid double, wind_dir int,"
    " wind_speed double, wind_gust double, precip double, pressure double, visib double"
)
PLANES: Final = Schema.parse(
    "tailnum string, year int, type string, manufacturer string, model string, engines int,"
    " seats int, speed int, engine string"
)
AIRLINES: Final = Schema.parse("carrier string, name string")
AIRPORTS: Final = Schema.parse(
    "faa string, name string, lat double, lon double, alt int, tz double, dst string, tzone string"
)
#: Format of a source -> schema of its table.
NEW_YORK: Final[Mapping[str, Schema]] = {
    "departures": DEPARTURES,
    "weather": WEATHER,
    "planes": PLANES,
    "airlines": AIRLINES,
    "airports": AIRPORTS,
}


def new_york_table(name: str, cache: Path) -> pa.Table:
    """One of the tables, from the cache folder; built there on first use.

    Columns: those of NEW_YORK, then ``_corrupt_record``. Raises DataMissing.
    """
    return cached(cache, name, lambda: build_table(name))


def build_table(name: str) -> pa.Table:
    """Read a table from the package's files; the streams are sorted by time. Raises DataMissing."""
    builders: dict[str, Callable[[], pa.Table]] = {"departures": _departures, "weather": _weather}
    build = builders.get(name, lambda: read_text(data_folder() / f"{name}.csv"))
    schema = NEW_YORK[name]
    fitted = fit_table(build().select(list(schema.names)), schema, reads_text=True)
    return fitted.select(arrow_schema(schema).names)


def _departures() -> pa.Table:
    table = read_text(data_folder() / "flights.csv.zip")
    table = table.append_column("sched_dep", scheduled_departure(table)).drop_columns("hour")
    hours: pa.ChunkedArray[Any] = pc.utf8_slice_codeunits(table.column("sched_dep"), 0, 13)
    on_the_hour = pc.binary_join_element_wise(hours, "00", ":")
    return _sorted(table.append_column("hour", on_the_hour), "sched_dep")


def _weather() -> pa.Table:
    table = read_text(data_folder() / "weather.csv")
    on_the_hour = table.append_column("minute", pa.array(["0"] * len(table)))
    return _sorted(table.append_column("seen", scheduled_departure(on_the_hour)), "seen")


def _sorted(table: pa.Table, time: str) -> pa.Table:
    """By a time in ISO text; equal times in the order of the file."""
    lines: pa.Array[Any] = pa.array(range(len(table)))
    order = [(time, "ascending"), ("line", "ascending")]
    return table.append_column("line", lines).sort_by(order)
