"""Readings of a laboratory's sensors: the Intel Berkeley Research Lab's where their files are given
([WRA13] §9.5), else a surrogate that is drawn.

Motes read every 31 seconds, one behind the other. Neighbours have neighbouring numbers, so that a
stream of some numbers is one of a part of the laboratory.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from backend.model.draws import draws, seed_of
from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT, arrow_schema, fit_table
from backend.workloads.keyed import START

#: place: metres along the laboratory; temperature: whole degrees Celsius; humidity: whole percent;
#: light: lux.
SENSORS_SCHEMA: Final = Schema.parse(
    "t timestamp, mote int, place double, temperature double, humidity double, light double"
)
N_MOTES: Final = 54
#: Files of a folder with the readings.
READINGS, PLACES = "data.txt", "mote_locs.txt"
_EVERY_US: Final = 31_000_000
_HOUR_US: Final = 3_600_000_000
_DRAWN: Final = 1 << 32
_COLUMNS: Final = ("day", "clock", "epoch", "mote", "temperature", "humidity", "light", "voltage")


class SensorsError(ValueError):
    """An option that cannot be; the message says what is allowed."""


class Motes(NamedTuple):
    """Those from ``first`` to ``last``."""

    first: int
    last: int


def motes_of(options: Mapping[str, str]) -> Motes:
    """The option ``motes``, as in ``1-14``; all where it is not given. Raises SensorsError."""
    text = options.get("motes", f"1-{N_MOTES}")
    ends = text.split("-")
    if len(ends) == 2 and all(end.strip().isdecimal() for end in ends):
        motes = Motes(*map(int, ends))
        if 1 <= motes.first <= motes.last <= N_MOTES:
            return motes
    raise SensorsError(f"motes must be two numbers of 1 to {N_MOTES}, as in 1-14, not {text}")


def is_surrogate(format_name: str, options: Mapping[str, str]) -> bool:
    """Whether a source is drawn in place of readings that are not given."""
    return format_name == "sensors" and "path" not in options


class SensorSource:
    """The surrogate; the same position always gives the same tuple. By day it is warmer and lighter
    than by night, warmer where the sun is, and where it is warm the air is drier."""

    schema = SENSORS_SCHEMA

    def __init__(self, seed: int, motes: Motes, n_tuples: int) -> None:
        self._seed, self._motes, self.n_tuples = seed, motes, n_tuples

    @classmethod
    def of(cls, seed: int, options: Mapping[str, str]) -> SensorSource:
        """The source of a workload's options. Raises SensorsError."""
        return cls(seed, motes_of(options), int(options.get("n_tuples", "10000000")))

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, fewer at the end."""
        places = np.arange(start, min(start + max(0, count), self.n_tuples))
        n = self._motes.last - self._motes.first + 1
        mote = self._motes.first + places % n
        time = places // n * _EVERY_US + (mote - 1) * _EVERY_US // N_MOTES
        day = 2 * np.pi * (time / _HOUR_US) / 24
        angle = 2 * np.pi * mote / N_MOTES
        warmth = 3.5 * np.sin(day - 2.4) + 1.5 * np.sin(angle) + 2 * self._drifting(1, mote, time)
        dampness = -1.6 * warmth + 4 * self._drifting(2, mote, time)
        sun = np.maximum(0, np.sin(day - 1.6)) * (1.5 + np.sin(angle))
        numbers = (
            np.round(20 + 20 * np.cos(angle)),
            np.round(21 + warmth),
            np.round(42 + dampness),
            np.round(5 + 200 * sun),
        )
        columns: list[pa.Array[Any]] = [pa.array(START + time, pa.timestamp("us", "UTC"))]
        columns.append(pa.array(mote.astype(np.int32)))
        columns += [pa.array(column) for column in numbers]
        columns.append(pa.nulls(len(places), pa.string()))
        return pa.Table.from_arrays(columns, names=[*self.schema.names, CORRUPT])

    def _drifting(
        self, what: int, mote: NDArray[np.int64], time: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """float64[n], -1 to 1: drawn for each hour and mote, straight lines between."""
        hour, part = time // _HOUR_US, time % _HOUR_US / _HOUR_US
        seed = seed_of(self._seed, what)
        begun, ended = (draws(seed, (hour + k) * N_MOTES + mote) / (_DRAWN / 2) - 1 for k in (0, 1))
        return np.asarray(begun + (ended - begun) * part)


@lru_cache(maxsize=1)
def _readings(folder: Path, changed: float) -> pa.Table:
    """All readings of a folder's files in order of time, with misfits. changed: when they last
    were."""
    cut: list[str] = []

    def kept_aside(row: pa_csv.InvalidRow) -> str:
        cut.append(row.text or "")
        return "skip"

    text = pa_csv.read_csv(
        folder / READINGS,
        read_options=pa_csv.ReadOptions(column_names=list(_COLUMNS), use_threads=False),
        parse_options=pa_csv.ParseOptions(
            delimiter=" ",
            quote_char=False,
            invalid_row_handler=kept_aside,
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(_COLUMNS, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    time = pc.binary_join_element_wise(text["day"], text["clock"], " ")
    motes, metres = _places(folder / PLACES)
    at = pc.index_in(text["mote"], value_set=motes)
    columns = {
        "t": time,
        **{name: text[name] for name in ("mote", "temperature", "humidity", "light")},
        "place": metres.take(at.combine_chunks()),
        CORRUPT: pc.if_else(
            pc.is_null(at),
            pc.binary_join_element_wise(*text.columns, " ", null_handling="replace"),
            None,
        ),
    }
    lines = pa.table({**{name: pa.nulls(len(cut), pa.string()) for name in columns}, CORRUPT: cut})
    table = pa.concat_tables([pa.table(columns), lines.cast(pa.table(columns).schema)])
    fitted = fit_table(table, SENSORS_SCHEMA, reads_text=True)
    fitted = fitted.select(arrow_schema(SENSORS_SCHEMA).names)
    return fitted.take(pc.sort_indices(fitted, sort_keys=[("t", "ascending")]))


def _places(path: Path) -> tuple[pa.Array[Any], pa.Array[Any]]:
    """Numbers of motes and where they are along the laboratory, as text. Raises SensorsError."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for number, row in enumerate(rows, start=1):
        if len(row) != 3:
            raise SensorsError(f"{path}, line {number}: a mote, x and y are allowed")
    motes, metres, _ = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.array(motes, pa.string()), pa.array(metres, pa.string())


def sensor_readings(folder: Path, motes: Motes) -> pa.Table:
    """The laboratory's readings by some motes, temperature and humidity in whole numbers; columns:
    as arrow_schema says. Misfits, and readings of a mote without a
    place, are of the stream of mote 1. Raises SensorsError."""
    for name in (READINGS, PLACES):
        if not (folder / name).is_file():
            raise SensorsError(f"there is no {name} in {folder}; allowed is the folder with both")
    changed = max((folder / name).stat().st_mtime for name in (READINGS, PLACES))
    table = _readings(folder, changed)
    mote = table["mote"]
    is_own = pc.and_(pc.greater_equal(mote, motes.first), pc.less_equal(mote, motes.last))
    is_own = pc.fill_null(is_own, motes.first == 1)
    table = table.filter(is_own)
    for name in ("place", "temperature", "humidity", "light"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pc.round(table[name]))
    return table
