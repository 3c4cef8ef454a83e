"""The functions every workload may call in its filters."""

from __future__ import annotations

import time
import zlib
from functools import lru_cache
from typing import Any, Final

import numpy as np
import re2
from numpy.typing import NDArray

from backend.workloads.functions import PrefixTable, filter_function

EARTH_KM: Final = 6371.0088
#: Entries of the index ``probe`` looks in: keys 0 to INDEX_ENTRIES - 1 are there.
INDEX_ENTRIES: Final = 10_000
_MASK: Final = (1 << 15) - 1
_INDEX: Final[NDArray[np.bool_]] = np.arange(_MASK + 1) < INDEX_ENTRIES
#: A call ends after so long, and so many probes: nothing else is done meanwhile.
MOST_US: Final = 10_000
MOST_PROBES: Final = 10_000
#: Of a compiled pattern, at most: it bounds the time that a letter of the text can take.
_PATTERN_BYTES: Final = 1 << 20
#: Letters of a pattern that an error shows, at most.
_SHOWN: Final = 80


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """Raises ValueError for a pattern that cannot be looked for in linear time."""
    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture = _PATTERN_BYTES, False, True
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0].decode() if isinstance(error, re2.error) else str(error)
        shown = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}…"
        message = (
            f"{shown!r} is no regular expression that may be used here: {why}; allowed is the "
            "syntax of RE2, which has no back references and no look-around, and counts to 1000"
        )
        raise ValueError(message) from error


def _checked(pattern: str) -> None:
    _compiled(pattern)


@filter_function("text string, pattern string", checks={"pattern": _checked})
def matches(text: str, pattern: str) -> bool:
    """Whether the regular expression is found somewhere in the text, in time linear in it."""
    return _compiled(pattern).search(text.encode()) is not None


@filter_function("text string, part string")
def contains(text: str, part: str) -> bool:
    """Whether the text has this part."""
    return part in text


@filter_function("address string, prefixes table")
def lookup(address: str, prefixes: PrefixTable) -> bool:
    """Whether one of the table's IPv4 prefixes covers the address."""
    return prefixes.covers(address)


@filter_function(
    "lat double, lon double, from_lat double, from_lon double, km double", whole_columns=True
)
def within_km(
    lat: NDArray[np.float64],
    lon: NDArray[np.float64],
    from_lat: float,
    from_lon: float,
    km: float,
) -> NDArray[np.bool_]:
    """Whether the point (degrees) is at most so far from another one, on a sphere."""
    near: NDArray[np.bool_] = great_circle_km(lat, lon, from_lat, from_lon) <= km
    return near


def great_circle_km(lat: Any, lon: Any, from_lat: Any, from_lon: Any) -> Any:
    """Haversine distance of points given in degrees, kilometres; arrays or numbers."""
    phi, phi0 = np.radians(lat), np.radians(from_lat)
    by_lat = np.sin((phi - phi0) / 2) ** 2
    by_lon = np.sin(np.radians(np.asarray(lon) - from_lon) / 2) ** 2
    return 2 * EARTH_KM * np.arcsin(np.sqrt(by_lat + np.cos(phi) * np.cos(phi0) * by_lon))


def _short(us: float) -> None:
    if not us <= MOST_US:
        raise ValueError(f"slow is busy for at most {MOST_US} microseconds, not {us:g}")


@filter_function("value any, us double, keep double", checks={"us": _short})
def slow(value: Any, us: float, keep: float) -> bool:
    """Busy for so many microseconds; true for about the share ``keep`` of the values. For demos."""
    _short(us)
    until = time.perf_counter() + us / 1e6
    while time.perf_counter() < until:
        pass
    return zlib.crc32(repr(value).encode()) < keep * 2**32


def _few(probes: int) -> None:
    if not probes <= MOST_PROBES:
        raise ValueError(f"probe makes at most {MOST_PROBES} probes, not {probes}")


@filter_function("key bigint, probes int", whole_columns=True, checks={"probes": _few})
def probe(key: NDArray[np.int64], probes: int) -> NDArray[np.bool_]:
    """Whether a key is in an index of 10 000 entries, found with so many probes. [B05] §4.7"""
    hits: NDArray[np.bool_] = _INDEX[key & _MASK]
    place = key & _MASK
    for _ in range(probes - 1):
        place = (place * 1_103_515_245 + 12_345) & _MASK
        hits = hits & (_INDEX[place] | True)
    return hits
