"""Seeded streams to join, whose arrivals adhere to a k-constraint ([B05] chapter 6; card B9).

The join graphs are those of Fig. 6.9, inferred from the prose: (a) S1 → S2, S1 → S3; (b) S1 → S3,
S2 → S3; (c) S1 → S2. A unit of time is the arrival of a child; it has 5 parents. A tuple has three
values: the attributes it is joined by, then one that filters look at. k is a function of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.json_options import parsed
from backend.workloads.keyed import START

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
#: k at times: float64[n] -> float64[n].
Adherence: TypeAlias = Callable[[Floats], Floats]

WIDTH: Final = 3
MULTIPLICITY: Final = 5
#: Values of the attribute that filters look at; those below a share of them pass.
N_MARKS: Final = 1000
S1, S2, S3 = range(3)


class ArrivingTuples(NamedTuple):
    """Tuples of several streams in the order they come. streams: int64[n]; values: int64[n, 3];
    times: int64[n], ticks, nondecreasing."""

    streams: Ints
    values: Ints
    times: Ints

    def of(self, stream: int) -> Ints:
        """The values of one stream: int64[m, 3]."""
        values: Ints = self.values[self.streams == stream]
        return values


def always(k: float) -> Adherence:
    """The same k at all times."""
    return varying(((0.0, k),), 1.0)


def varying(knots: Sequence[tuple[float, float]], length: float) -> Adherence:
    """k in straight lines between (share of the length, k)."""
    shares, ks = zip(*knots, strict=True)

    def k(times: Floats) -> Floats:
        interpolated: Floats = np.interp(times / length, shares, ks)
        return interpolated

    return k


def referring(n: int, k: Adherence, rng: np.random.Generator) -> ArrivingTuples:
    """Graph (a): RIDS(k) on both joins, join distances 0..k, all alike."""
    units = n // (MULTIPLICITY + 2)
    times = np.sort(1 + (units - 1) * rng.random(units * MULTIPLICITY))
    children = np.arange(1, units + 1)
    come = children.astype(np.float64)
    joined = [_ahead(times, k, rng) for _ in (S2, S3)]
    parts = [(times, _rows(*joined))]
    parts += [(come, _rows(children, marks=_marks(units, rng))) for _ in (S2, S3)]
    return merged(parts)


def _ahead(times: Floats, k: Adherence, rng: np.random.Generator) -> Ints:
    """Children of tuples: so many arrivals later than the newest."""
    newest: Ints = np.floor(times).astype(np.int64)
    return newest + _drawn(k, times, rng)


def _drawn(k: Adherence, times: Floats, rng: np.random.Generator) -> Ints:
    """Whole numbers 0..k."""
    drawn: Ints = np.floor(rng.random(len(times)) * (np.floor(k(times)) + 1)).astype(np.int64)
    return drawn


def clustered(
    n: int, k: Adherence, rng: np.random.Generator, in_order: bool = False
) -> ArrivingTuples:
    """Graph (b): CA(k) on the attribute of S1 and of S2, largest distances of values 0..k; each
    child before its first parent. in_order: values ascend, so that OAP(k) holds."""
    units = n // (2 * MULTIPLICITY + 1)
    values = np.arange(units) if in_order else rng.permutation(units)
    first = np.full(units, np.inf)
    parts = []
    for _ in (S1, S2):
        which = _spread_copies(units, k, rng)
        times = np.arange(len(which)) / MULTIPLICITY
        parts.append((times, _rows(values[which])))
        np.minimum.at(first, which, times)
    parts.append((first - 0.5 / MULTIPLICITY, _rows(values, marks=_marks(units, rng))))
    return merged(parts)


def _spread_copies(units: int, k: Adherence, rng: np.random.Generator) -> Ints:
    """Which value each parent has, in the order they come: five of each, the last so many
    arrivals after the first."""
    starts = np.arange(units, dtype=np.float64)
    span = _drawn(k, starts, rng)
    offsets = np.concatenate(
        [np.zeros((units, 1)), rng.random((units, MULTIPLICITY - 2)), np.ones((units, 1))], axis=1
    )
    places = MULTIPLICITY * starts[:, None] + span[:, None] * offsets
    order = np.argsort(places.ravel(), kind="stable")
    return np.repeat(np.arange(units), MULTIPLICITY)[order]


def scrambled(n: int, k: float, rng: np.random.Generator) -> ArrivingTuples:
    """Graph (c): OAC(k) on the attribute of S2, scrambling distances 0..k; S1 as far apart."""
    units = n // (MULTIPLICITY + 1)
    values = np.arange(units)
    parents = np.repeat(values, MULTIPLICITY)
    parts = [
        (parents + (k + 1) * rng.random(len(parents)), _rows(parents)),
        (values + k * rng.random(units), _rows(values, marks=_marks(units, rng))),
    ]
    return merged(parts)


def grouped_and_scrambled(n: int, k: float, rng: np.random.Generator) -> ArrivingTuples:
    """Graph (a): CA(0) on S1.A, OAC(k) on S3.B; a quarter of S1 has no child in S3."""
    units = n // (MULTIPLICITY + 2)
    children = np.arange(units)
    parents = np.repeat(children, MULTIPLICITY)
    times = np.arange(len(parents)) / MULTIPLICITY
    known = np.arange(4 * units // 3)
    there = known[known % 4 != 3]
    wanted = np.floor((times + k * (rng.random(len(times)) - 0.5)) / 0.75).astype(np.int64)
    parts = [
        (times, _rows(parents, np.clip(wanted, 0, len(known) - 1))),
        (children - 0.1, _rows(children, marks=_marks(units, rng))),
        (0.75 * there + k * rng.random(len(there)), _rows(there, marks=_marks(len(there), rng))),
    ]
    return merged(parts)


def clustered_and_referring(
    n: int, clustering: float, k: float | Floats, rng: np.random.Generator
) -> ArrivingTuples:
    """Graph (c): CA on S1.A and RIDS(k) on the join, k of all or of each child; two parents for
    each child."""
    units = n // 3
    children = np.arange(units)
    first = children - (k + 0.5) * rng.random(units)
    second = first + clustering / 2 * rng.random(units)
    parts = [
        (np.concatenate([first, second]), _rows(np.concatenate([children, children]))),
        (children.astype(np.float64), _rows(children, marks=_marks(units, rng))),
    ]
    return merged(parts)


def _marks(n: int, rng: np.random.Generator) -> Ints:
    return rng.integers(N_MARKS, size=n)


def _rows(first: Ints, second: Ints | None = None, marks: Ints | None = None) -> Ints:
    nothing = np.zeros(len(first), np.int64)
    columns = [first, nothing if second is None else second, nothing if marks is None else marks]
    return np.stack(columns, axis=1)


def merged(parts: Sequence[tuple[Floats, Ints]]) -> ArrivingTuples:
    """The streams by their times; a tuple a tick."""
    times = np.concatenate([times for times, _ in parts])
    streams = np.repeat(np.arange(len(parts)), [len(times) for times, _ in parts])
    order = np.argsort(times, kind="stable")
    values = np.concatenate([values for _, values in parts])[order]
    return ArrivingTuples(streams[order], values, np.arange(len(order)))


# ---------------------------------------------------------------------- as a source

#: a, b: attributes to join by, of S2 and S3 a is a key; mark: 0..999, all alike.
ADHERING_SCHEMA: Final = Schema.parse("t timestamp, a bigint, b bigint, mark int")
STREAMS: Final = ("S1", "S2", "S3")
TRACES: Final[Mapping[str, str]] = {
    "referring": "RIDS",
    "clustered": "CA",
    "ordered": "OAP",
    "scrambled": "OAC",
    "grouped": "CA and OAC",
}
DEFAULT_TUPLES: Final = 700_000
DEFAULT_PER_SECOND: Final = 10
_MOST_K: Final = 1_000_000
_SECOND_US: Final = 1_000_000


class AdheringError(ValueError):
    """An option that cannot be; the message says what is allowed."""


class AdheringTrace(NamedTuple):
    """What the streams of a trace have in common. name: one of TRACES; knots: (share of the trace,
    k), straight lines between; n_tuples: of all streams; per_second: of all streams."""

    seed: int
    name: str
    knots: tuple[tuple[float, float], ...]
    n_tuples: int = DEFAULT_TUPLES
    per_second: int = DEFAULT_PER_SECOND


def adhering_trace(seed: int, options: Mapping[str, str]) -> AdheringTrace:
    """The trace that options of a source describe. Raises AdheringError."""
    name = options.get("trace", "")
    if name not in TRACES:
        raise AdheringError(f"trace must be {', '.join(TRACES)}, not {name!r}")
    knots = _knots(options.get("k", "0"))
    if len(knots) > 1 and name in ("scrambled", "grouped"):
        raise AdheringError(f"k of {name} is one number, the same all the time")
    return AdheringTrace(
        seed,
        name,
        knots,
        int(options.get("n_tuples", DEFAULT_TUPLES)),
        int(options.get("per_second", DEFAULT_PER_SECOND)),
    )


def _knots(text: str) -> tuple[tuple[float, float], ...]:
    value = parsed(text)
    rows = value if isinstance(value, list) else [[0, value]]
    knots: list[tuple[float, float]] = []
    for row in rows or [None]:
        good = isinstance(row, list) and len(row) == 2 and all(type(x) in (int, float) for x in row)
        after = knots[-1][0] if knots else 0.0
        if not good or not after <= row[0] <= 1 or not 0 <= row[1] <= _MOST_K:
            allowed = f"0..{_MOST_K}, or a list of [share of the trace, k], shares 0..1 ascending"
            raise AdheringError(f"k must be {allowed}, not {text}")
        knots.append((float(row[0]), float(row[1])))
    return tuple(knots)


def adhering_stream(options: Mapping[str, str]) -> int:
    """The option ``stream``. Raises AdheringError."""
    name = options.get("stream", "").upper()
    if name not in STREAMS or (name == "S3" and options.get("trace") == "scrambled"):
        raise AdheringError(f"stream must be S1, S2 or, but for scrambled, S3, not {name!r}")
    return STREAMS.index(name)


@lru_cache(maxsize=2)
def arriving(trace: AdheringTrace) -> ArrivingTuples:
    """All streams of a trace."""
    n, rng, k = trace.n_tuples, np.random.default_rng(trace.seed), trace.knots[0][1]
    if trace.name == "scrambled":
        return scrambled(n, k, rng)
    if trace.name == "grouped":
        return grouped_and_scrambled(n, k, rng)
    if trace.name == "referring":
        return referring(n, varying(trace.knots, n / (MULTIPLICITY + 2)), rng)
    in_order, length = trace.name == "ordered", n / (2 * MULTIPLICITY + 1)
    return clustered(n, varying(trace.knots, length), rng, in_order)


class AdheringSource:
    """One of the streams of a trace; the same position always gives the same tuple."""

    schema = ADHERING_SCHEMA

    def __init__(self, stream: int, trace: AdheringTrace) -> None:
        self.stream, self.trace = stream, trace

    @classmethod
    def of(cls, seed: int, options: Mapping[str, str]) -> AdheringSource:
        """The source of a workload's options. Raises AdheringError."""
        return cls(adhering_stream(options), adhering_trace(seed, options))

    @property
    def n_tuples(self) -> int:
        """Of this stream."""
        return len(self._places)

    @property
    def _places(self) -> Ints:
        return _places(self.trace, self.stream)

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, fewer at the end."""
        places = self._places[start : start + max(0, count)]
        values = arriving(self.trace).values[places]
        times = places * _SECOND_US // self.trace.per_second
        columns: list[pa.Array[Any]] = [
            pa.array(START + times, pa.timestamp("us", "UTC")),
            pa.array(np.ascontiguousarray(values[:, 0])),
            pa.array(np.ascontiguousarray(values[:, 1])),
            pa.array(values[:, 2].astype(np.int32)),
            pa.nulls(len(places), pa.string()),
        ]
        return pa.Table.from_arrays(columns, names=[*ADHERING_SCHEMA.names, CORRUPT])


@lru_cache(maxsize=6)
def _places(trace: AdheringTrace, stream: int) -> Ints:
    """Of a stream's tuples among all."""
    return np.flatnonzero(arriving(trace).streams == stream)
