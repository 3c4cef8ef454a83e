"""The sources that come with the program: their options, checked, and their schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from backend.model.schema import Schema
from backend.workloads.adhering import (
    ADHERING_SCHEMA,
    AdheringError,
    adhering_stream,
    adhering_trace,
)
from backend.workloads.clique import CliqueError, clique_schema, clique_stream, clique_trace
from backend.workloads.correlated import (
    CorrelatedError,
    correlated_schema,
    selectivities_from_json,
)
from backend.workloads.drift import DRIFT_SCHEMA, DriftError, phases_from_json
from backend.workloads.flights import FLIGHTS_SCHEMA
from backend.workloads.intervals import INTERVALS_SCHEMA, IntervalsError, IntervalSource
from backend.workloads.keyed import KeyedError, bursts_from_json, keyed_schema, keys_from_json
from backend.workloads.linear_road import CAR_SCHEMA, AccidentShareError, accidents_from_text
from backend.workloads.links import LINKS_SCHEMA, LinksError, link_of, trace_of
from backend.workloads.new_york import NEW_YORK
from backend.workloads.packets import (
    PACKETS_SCHEMA,
    SUSPECTS_SCHEMA,
    PacketsError,
    attacks_from_json,
)
from backend.workloads.sensors import SENSORS_SCHEMA, SensorsError, motes_of
from backend.workloads.tables import TomlTable

#: Formats replayed from Python, and the options each takes.
BUILT_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": (),
    "flights": (),
    "drift": ("seed", "phases"),
    "packets": ("seed", "attacks", "n_tuples"),
    "suspects": ("seed",),
    "correlated": ("seed", "selectivities", "gamma", "period", "regimes", "n_tuples"),
    "cars": ("seed", "n_tuples", "accidents"),
    "keyed": ("seed", "keys", "per_day", "bursts"),
    "adhering": ("trace", "stream", "k", "seed", "n_tuples", "per_second"),
    "links": ("link", "seed", "rates", "onward", "latencies", "jitter", "seconds"),
    "clique": ("stream", "streams", "seed", "phases", "per_second", "n_tuples"),
    "intervals": ("seed", "phases", "seconds", "n_tuples"),
    "sensors": ("motes", "path", "seed", "n_tuples"),
    **dict.fromkeys(NEW_YORK, ()),
}
DEFAULT_SEED: Final = 7
#: Options that are whole numbers: the least and the greatest, exclusive.
_WHOLE: Final = {
    "seed": (0, 1 << 63),
    "n_tuples": (1, 1 << 40),
    "gamma": (1, 1000),
    "period": (0, 1 << 40),
    "regimes": (0, 1 << 20),
    "per_day": (1, 1 << 32),
    "per_second": (1, 1 << 32),
    "seconds": (1, 1 << 32),
    "streams": (2, 7),
}


def built_in_schema(format_name: str, options: Mapping[str, str]) -> Schema | None:
    """The schema a built-in source has by itself; options checked."""
    if format_name == "correlated":
        return correlated_schema(len(selectivities_from_json(options["selectivities"])))
    if format_name == "clique":
        return clique_schema(options)
    if format_name == "keyed":
        return keyed_schema(keys_from_json(options["keys"]))
    schemas = {
        "flights": FLIGHTS_SCHEMA,
        "drift": DRIFT_SCHEMA,
        "packets": PACKETS_SCHEMA,
        "suspects": SUSPECTS_SCHEMA,
        "cars": CAR_SCHEMA,
        "links": LINKS_SCHEMA,
        "intervals": INTERVALS_SCHEMA,
        "sensors": SENSORS_SCHEMA,
        "adhering": ADHERING_SCHEMA,
        **NEW_YORK,
    }
    return schemas.get(format_name)


def check_options(table: TomlTable, format_name: str, options: Mapping[str, str]) -> None:
    """Raises WorkloadError when an option of a built-in source cannot be."""
    for name in BUILT_IN[format_name]:
        if name in _WHOLE and name in options:
            _check_whole(table, name, options[name])
    try:
        for name, check in _CHECKS.get(format_name, {}).items():
            check(options.get(name, "[]" if name in _NONE_AT_FIRST else ""))
        for read in _READ_TOGETHER.get(format_name, ()):
            read(options)
    except _ERRORS as error:
        raise table.refuse(str(error)) from error


_CHECKS: Final[Mapping[str, Mapping[str, Callable[[str], object]]]] = {
    "drift": {"phases": phases_from_json},
    "packets": {"attacks": attacks_from_json},
    "correlated": {"selectivities": selectivities_from_json},
    "cars": {"accidents": accidents_from_text},
    "keyed": {"keys": keys_from_json, "bursts": bursts_from_json},
}
#: Checks of options that are about several.
_READ_TOGETHER: Final[Mapping[str, tuple[Callable[[Mapping[str, str]], object], ...]]] = {
    "links": (link_of, partial(trace_of, DEFAULT_SEED)),
    "intervals": (partial(IntervalSource.of, DEFAULT_SEED),),
    "clique": (clique_stream, partial(clique_trace, DEFAULT_SEED)),
    "sensors": (motes_of,),
    "adhering": (adhering_stream, partial(adhering_trace, DEFAULT_SEED)),
}
#: Options that are an empty list unless given.
_NONE_AT_FIRST: Final = ("attacks", "bursts")
_ERRORS: Final = (
    DriftError,
    PacketsError,
    CorrelatedError,
    AccidentShareError,
    KeyedError,
    LinksError,
    AdheringError,
    CliqueError,
    IntervalsError,
    SensorsError,
)


def _check_whole(table: TomlTable, name: str, text: str) -> None:
    low, high = _WHOLE[name]
    if not text.isdecimal() or not low <= int(text) < high:
        raise table.refuse(f"{name} must be a whole number of {low} or more, not {text}")
