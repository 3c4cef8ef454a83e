"""Seeded streams of keys to join, which come evenly in time but for bursts.

The set-up of the thesis' experiment on adaptivity (Fig. 5.22): streams with rates of their own, one
of which comes many times as fast for a while. A tuple is the time it comes at and a whole number
for each key; a key has ``values`` of them, 0 upwards, the v-th in proportion to
``1 / (v + 1) ** skew`` (0: all alike).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.json_options import is_number, parsed

#: When the streams begin, and for how long they last.
START: Final = np.datetime64("2013-01-01T05:00:00", "us")
DAYS: Final = 365
DAY_US: Final = 86_400_000_000
#: Tuples drawn from one random stream; any slice is made of whole blocks, cut.
BLOCK_TUPLES: Final = 8192
DEFAULT_PER_DAY: Final = 1440
#: A burst comes at most so many times as fast.
MOST_FACTOR: Final = 1000
MOST_VALUES: Final = 10_000_000


class KeyedError(ValueError):
    """Keys or bursts that cannot be; the message says what is allowed."""


class KeyOf(NamedTuple):
    """An attribute. values: how many there are; skew: of their frequencies, 0 = all alike."""

    name: str
    values: int
    skew: float = 0.0


class Burst(NamedTuple):
    """From day ``start`` to day ``stop`` tuples come ``factor`` times as fast."""

    start: float
    stop: float
    factor: float


def keys_from_json(text: str) -> tuple[KeyOf, ...]:
    """The ``keys`` option: ``{name: values}`` or ``{name: [values, skew]}``. Raises KeyedError."""
    table = parsed(text)
    if not isinstance(table, dict) or not table:
        raise KeyedError("keys must be a table of attributes, each with how many values it has")
    keys = []
    for name, value in table.items():
        if not name.isidentifier() or name.startswith("_") or name.lower() == "t":
            raise KeyedError(f"key {name!r}: a key is an attribute with another name than t")
        parts = value if isinstance(value, list) else [value]
        good = 1 <= len(parts) <= 2 and type(parts[0]) is int and 1 <= parts[0] <= MOST_VALUES
        if not good or not all(is_number(number) and 0 <= number <= 10 for number in parts[1:]):
            raise KeyedError(
                f"key {name}: expected a number of values of 1..{MOST_VALUES}, or that and a skew"
                f" of 0..10, not {value}"
            )
        keys.append(KeyOf(name, parts[0], float(parts[1]) if len(parts) > 1 else 0.0))
    return tuple(keys)


def bursts_from_json(text: str) -> tuple[Burst, ...]:
    """The ``bursts`` option: ``[[start, stop, factor], …]`` in days from the beginning, one after
    the other. Raises KeyedError."""
    rows = parsed(text)
    if not isinstance(rows, list):
        raise KeyedError("bursts must be a list of [start day, stop day, factor]")
    bursts: list[Burst] = []
    for row in rows:
        good = isinstance(row, list) and len(row) == 3 and all(map(is_number, row))
        after = bursts[-1].stop if bursts else 0.0
        if not good or not after <= row[0] < row[1] <= DAYS or not 0 < row[2] <= MOST_FACTOR:
            raise KeyedError(
                f"burst {row}: expected [start, stop, factor] with {after:g} <= start < stop <="
                f" {DAYS} and a factor above 0, at most {MOST_FACTOR}"
            )
        bursts.append(Burst(*map(float, row)))
    return tuple(bursts)


def keyed_schema(keys: Sequence[KeyOf]) -> Schema:
    """The time and the keys."""
    return Schema.parse(", ".join(["t timestamp", *(f"{key.name} int" for key in keys)]))


class KeyedSource:
    """A stream of keys; the same position always gives the same tuple."""

    def __init__(
        self, seed: int, keys: Sequence[KeyOf], per_day: int, bursts: Sequence[Burst] = ()
    ) -> None:
        self.seed, self.keys, self.per_day = seed, tuple(keys), per_day
        self.bursts, self.schema = tuple(bursts), keyed_schema(keys)

    @classmethod
    def of(cls, seed: int, options: Mapping[str, str]) -> KeyedSource:
        """The source of a workload's options. Raises KeyedError."""
        keys, bursts = keys_from_json(options["keys"]), options.get("bursts", "[]")
        per_day = int(options.get("per_day", DEFAULT_PER_DAY))
        return cls(seed, keys, per_day, bursts_from_json(bursts))

    @property
    def n_tuples(self) -> int:
        """Tuples that come in DAYS."""
        return int(self._course[1][-1])

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, drawn anew at each call."""
        count = max(0, min(count, self.n_tuples - start))
        values = np.empty((len(self.keys), count), np.int32)
        done = 0
        while done < count:
            block, offset = divmod(start + done, BLOCK_TUPLES)
            n = min(BLOCK_TUPLES - offset, count - done)
            values[:, done : done + n] = self._block(block)[:, offset : offset + n]
            done += n
        columns: list[pa.Array[Any]] = [
            pa.array(START + self.times_us(start, count), pa.timestamp("us", "UTC")),
            *map(pa.array, values),
            pa.nulls(count, pa.string()),
        ]
        return pa.Table.from_arrays(columns, names=[*self.schema.names, CORRUPT])

    def times_us(self, start: int, count: int) -> NDArray[np.int64]:
        """When tuples come: int64[count], microseconds from the beginning, ascending."""
        days, tuples = self._course
        numbers = np.arange(start, start + count)
        return np.floor(np.interp(numbers, tuples, days) * DAY_US).astype(np.int64)

    @cached_property
    def _course(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Days at which the rate changes, and the tuples that came by then."""
        days, factors = [0.0], []
        for burst in self.bursts:
            days += [burst.start, burst.stop]
            factors += [1.0, burst.factor]
        days, factors = [*days, float(DAYS)], [*factors, 1.0]
        steps = np.diff(days) * factors * self.per_day
        return np.array(days), np.floor(np.concatenate([[0.0], np.cumsum(steps)]))

    def _block(self, block: int) -> NDArray[np.int32]:
        rng = np.random.Generator(np.random.Philox(key=[self.seed, block]))
        drawn = rng.random((len(self.keys), BLOCK_TUPLES))
        rows = [
            np.searchsorted(edges, draw, side="right")
            for edges, draw in zip(self._quantiles, drawn, strict=True)
        ]
        return np.array(rows, np.int32)

    @cached_property
    def _quantiles(self) -> list[NDArray[np.float64]]:
        """Of each key: the share of tuples up to each value but the last."""
        quantiles = []
        for key in self.keys:
            weights = np.arange(1, key.values + 1, dtype=np.float64) ** -key.skew
            quantiles.append((np.cumsum(weights) / weights.sum())[:-1])
        return quantiles
