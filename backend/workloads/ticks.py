"""How a workload file says what time the tuples of a stream have."""

from __future__ import annotations

import sys
from typing import Final

from backend.cql.errors import did_you_mean, listed
from backend.model.schema import Schema
from backend.workloads.tables import TomlTable, kind_of

TIMESTAMP_TYPES: Final = ("int", "bigint", "date", "timestamp")
#: Microseconds of a tick of a stream that does not say: a second.
DEFAULT_TICK_US: Final = 1_000_000
#: What a tick may be counted in, in microseconds.
UNITS_US: Final = {
    "us": 1,
    "microsecond": 1,
    "ms": 1_000,
    "millisecond": 1_000,
    "s": 1_000_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
#: Ten years.
USUAL_LEAP_DAYS: Final = 3653
#: More than from any tick to any other.
ANY_LEAP: Final = 1 << 61
_DAYS_US: Final = 366 * UNITS_US["day"]


def tick_us(table: TomlTable) -> int:
    """The key ``tick`` of a stream's table, "1 second", "100 ms"; a second where it is left out.
    Raises WorkloadError."""
    text = table.text("tick")
    if text is None:
        return DEFAULT_TICK_US
    return _length_us("tick", text, table)


def _length_us(key: str, text: str, table: TomlTable) -> int:
    """A length of time in microseconds, at most a year."""
    number, _, unit = text.strip().lower().partition(" ")
    size = UNITS_US.get(unit.strip(), UNITS_US.get(unit.strip().removesuffix("s")))
    if size is None or not number.isdecimal() or not 0 < int(number) * size <= _DAYS_US:
        known = "us, ms, second, minute, hour or day"
        raise table.refuse(f'{key} = "{text}" is not a number of {known}, as in "1 second"')
    return int(number) * size


def disorder_ticks(table: TomlTable) -> int:
    """The key ``disorder``: ticks by which a tuple may be older than one before. Raises
    WorkloadError."""
    value = table.values.get("disorder", 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise table.refuse(f"disorder must be a whole number of ticks, not {kind_of(value)}")
    if not 0 <= value < 1 << 40:
        raise table.refuse(f"disorder = {value} is not allowed; 0 or more ticks")
    return value


def leap_ticks(table: TomlTable, usual: int, disorder: int) -> int:
    """The key ``max_leap``: ticks by which a tuple may be ahead of all before it, more than
    disorder. usual: where it is left out. Raises WorkloadError."""
    value = table.values.get("max_leap", max(usual, disorder + 1))
    if isinstance(value, bool) or not isinstance(value, int):
        raise table.refuse(f"max_leap must be a whole number of ticks, not {kind_of(value)}")
    if not disorder < value <= ANY_LEAP:
        allowed = f"{disorder + 1} to {ANY_LEAP} ticks"
        raise table.refuse(f"max_leap = {value} is not allowed; {allowed}")
    return value


def usual_leap(schema: Schema, timestamp: str | None, tick_us: int) -> int:
    """``max_leap`` of a stream that does not say: ten years of a calendar; numbers have no such
    bound, for what they count is not known."""
    attribute = schema.find(timestamp) if timestamp else None
    is_time = attribute is not None and attribute.type in ("date", "timestamp")
    return USUAL_LEAP_DAYS * UNITS_US["day"] // tick_us if is_time else ANY_LEAP


def idle_after_s(table: TomlTable) -> float | None:
    """The key ``idle_after`` of a stream's table, "30 seconds": how long queries wait for it while
    it is silent; None: for ever. Raises WorkloadError."""
    text = table.text("idle_after")
    return None if text is None else _length_us("idle_after", text, table) / UNITS_US["second"]


def timestamp_attribute(table: TomlTable, schema: Schema) -> str | None:
    """The key ``timestamp``: the attribute with the time of a tuple, spelled as in the schema.
    Raises WorkloadError."""
    name = table.text("timestamp")
    if name is None:
        return None
    attribute = schema.find(name)
    if attribute is None:
        hint = did_you_mean(name, schema.names) or f"; it has {listed(schema.names, 'and')}"
        raise table.refuse(f"timestamp: the schema has no column {name!r}{hint}")
    if attribute.type not in TIMESTAMP_TYPES:
        allowed = listed(TIMESTAMP_TYPES)
        raise table.refuse(
            f"timestamp: {name!r} is a {attribute.type} column; it must be {allowed}"
        )
    return attribute.name


def replay_rate(table: TomlTable) -> float | None:
    """The key ``rate``: tuples per second, 0 as fast as possible. Raises WorkloadError."""
    value = table.values.get("rate")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise table.refuse(f"rate must be a number of tuples per second, not {kind_of(value)}")
    if not 0 <= value <= sys.float_info.max:
        raise table.refuse(f"rate = {value} is not allowed; 0 (as fast as possible) or more")
    return float(value)
