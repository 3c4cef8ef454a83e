"""The tuples of the experiments: D1, D2, D3 of the papers, a census file, flights in its place.

[L12] §6 and [L07] §5.2 give neither D2's shape nor D3's pulse: D2 is normal(50, 15) clipped to
0..99; D3 of [L07] has four fifths of its values within 0..19 in the first half, within 80..99 in
the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.operators.selection.layout import Texts
from backend.operators.selection.lookup import hit_regions
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.layouts import search_of
from backend.workloads.drift import DRIFT_SCHEMA, N_VALUES, Phase, drift_values
from backend.workloads.flights import flights_table

#: Values of one attribute, and which are NULL (None: none).
CensusColumn: TypeAlias = tuple[NDArray[Any], NDArray[np.bool_] | None]
#: int16[T, n], columns in schema order.
RegionTable: TypeAlias = NDArray[np.int16]

_PORTION: Final = 1 << 17
#: Attributes an experiment on recorded data may use, at most.
MOST_ATTRIBUTES: Final = 15
FLIGHT_ATTRIBUTES: Final = (
    "dep_delay int, hour int, distance int, seats int, temp double, month int, day int,"
    " arr_delay int, air_time int, flight int, plane_year int, wind_speed double, dep_time int,"
    " arr_time int, pressure double"
)


class CensusUnreadable(ValueError):
    """The file given as census cannot be used; the message says why and what is allowed."""


class Stream(NamedTuple):
    """Tuples to run over. grids: attribute -> its values in ascending order, as frequent as they
    are (constants of queries are quantiles of these). columns: (attributes, start, count) ->
    their values."""

    label: str
    schema: Schema
    n_tuples: int
    grids: Mapping[str, NDArray[Any]]
    columns: Callable[[Sequence[str], int, int], list[CensusColumn]]


def synthetic(label: str, seed: int, phases: Sequence[Phase]) -> Stream:
    """20 int attributes a1..a20, values 0..99, phase after phase."""

    def columns(names: Sequence[str], start: int, count: int) -> list[CensusColumn]:
        values = drift_values(seed, phases, start, count)
        return [(values[DRIFT_SCHEMA.names.index(name)], None) for name in names]

    grids = {name: np.arange(N_VALUES) for name in DRIFT_SCHEMA.names}
    return Stream(label, DRIFT_SCHEMA, sum(p.n_tuples for p in phases), grids, columns)


def uniform(seed: int, n_tuples: int) -> Stream:
    """D1."""
    return synthetic("D1 uniform", seed, [Phase("uniform", n_tuples)])


def bell(seed: int, n_tuples: int) -> Stream:
    """D2."""
    return synthetic("D2 bell", seed, [Phase("bell", n_tuples)])


def pulse(seed: int, n_tuples: int) -> Stream:
    """D3 of [L07]: low values first, high ones in the second half."""
    half, names = n_tuples // 2, DRIFT_SCHEMA.names
    phases = [Phase("uniform", half, permissive=names), Phase("uniform", half, selective=names)]
    return synthetic("D3 pulse", seed, phases)


def alternating(seed: int, stretch: int, n_stretches: int) -> Stream:
    """D1 and D2 in turn, ``stretch`` tuples each."""
    kinds = ("uniform", "bell")
    phases = [Phase(kinds[k % 2], stretch) for k in range(n_stretches)]
    return synthetic("D1 and D2 in turn", seed, phases)


def recorded(census: Path | None, cache: Path, n_tuples: int) -> Stream:
    """The census file when there is one, else flights, in their own order; n_tuples at most.

    Raises CensusUnreadable; DataMissing when the flights are not installed.
    """
    if census is not None:
        table, schema, label = _census(census)
    else:
        schema = Schema.parse(FLIGHT_ATTRIBUTES)
        table, label = flights_table(cache), "flights (in place of the census)"
    table = table.slice(0, n_tuples).combine_chunks()
    by_name = {a.name: _column(table.column(a.name), a.type) for a in schema.attributes}
    grids = {
        name: np.sort(values if is_null is None else values[~is_null])
        for name, (values, is_null) in by_name.items()
    }

    def columns(names: Sequence[str], start: int, count: int) -> list[CensusColumn]:
        part = slice(start, start + count)
        cut = [(by_name[name][0][part], by_name[name][1]) for name in names]
        return [(values, None if nulls is None else nulls[part]) for values, nulls in cut]

    return Stream(label, schema, len(table), grids, columns)


def _column(values: pa.ChunkedArray[Any], type_name: str) -> CensusColumn:
    is_null = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    kind = np.float64 if type_name == "double" else np.int64
    fill_null: Any = pc.fill_null  # its type stub knows no chunked columns
    return fill_null(values, 0).to_numpy().astype(kind), is_null


def _census(path: Path) -> tuple[pa.Table, Schema, str]:
    """The integer columns with most distinct values, in the file's order; a first line of names."""
    try:
        table = pa_csv.read_csv(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise CensusUnreadable(f"{path}: {error}; allowed: a CSV file with a line of names") from (
            error
        )
    integers = [f.name for f in table.schema if pa.types.is_integer(f.type) and f.name != "caseid"]
    if len(integers) < MOST_ATTRIBUTES:
        raise CensusUnreadable(
            f"{path} has {len(integers)} integer columns; needed: {MOST_ATTRIBUTES}"
        )
    n_distinct = {name: len(pc.unique(table.column(name))) for name in integers}
    chosen = sorted(integers, key=lambda name: -n_distinct[name])[:MOST_ATTRIBUTES]
    kept = [name for name in integers if name in chosen]
    renamed = [f"c{place}" for place in range(1, len(kept) + 1)]
    schema = Schema.parse(", ".join(f"{name} bigint" for name in renamed))
    return table.select(kept).rename_columns(renamed), schema, f"census file {path.name}"


def regions_of(stream: Stream, constructs: ConstructSet) -> RegionTable:
    """int16[T, n]: the region each tuple hits. Raises OverflowError for 2^15 regions and more."""
    chosen = list(constructs.constructs.values())
    if any(c.n_regions > np.iinfo(np.int16).max for c in chosen):
        raise OverflowError("a construct of an experiment has 2^15 regions or more")
    searches = [search_of(c) for c in chosen]
    table = np.empty((stream.n_tuples, len(chosen)), dtype=np.int16)
    for start in range(0, stream.n_tuples, _PORTION):
        part = table[start : start + _PORTION]
        columns = stream.columns(constructs.attributes, start, len(part))
        hit = np.empty(len(part), dtype=np.int32)
        for place, (search, (values, is_null)) in enumerate(zip(searches, columns, strict=True)):
            assert not isinstance(search, Texts)
            wide = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
            hit_regions(search, wide, is_null, hit)
            part[:, place] = hit
    return table
