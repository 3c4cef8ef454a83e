"""Functions and tables of the workload flight_filters."""

from __future__ import annotations

import csv
from math import asin, cos, radians, sin, sqrt
from typing import Final

from backend.workloads.flights import data_folder
from backend.workloads.functions import ValueTable, filter_function

EARTH_KM: Final = 6371.0088


def _airports() -> ValueTable:
    """Airport code -> (latitude, longitude) in degrees, from the data package."""
    with (data_folder() / "airports.csv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        return ValueTable({row["faa"]: (float(row["lat"]), float(row["lon"])) for row in rows})


airports = _airports()


@filter_function("airport string, places table, lat double, lon double, km double")
def airport_within(airport: str, places: ValueTable, lat: float, lon: float, km: float) -> bool:
    """Whether an airport lies at most so far from a point, on a sphere; raises for unknown ones."""
    place = places.get(airport)
    if place is None:
        raise LookupError(f"the table has no airport {airport!r}")
    phi, phi0 = radians(place[0]), radians(lat)
    by_lat = sin((phi - phi0) / 2) ** 2
    by_lon = sin(radians(place[1] - lon) / 2) ** 2
    angle: float = 2 * asin(sqrt(by_lat + cos(phi) * cos(phi0) * by_lon))
    return EARTH_KM * angle <= km


@filter_function("temp double, wind double, least double")
def feels_colder(temp: float, wind: float, least: float) -> bool:
    """Whether wind chill (degrees Fahrenheit, miles an hour) takes off at least so many degrees."""
    if temp > 50 or wind < 3:
        return False
    strength: float = wind**0.16
    return temp - (35.74 + 0.6215 * temp - 35.75 * strength + 0.4275 * temp * strength) >= least
