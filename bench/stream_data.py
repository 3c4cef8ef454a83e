"""Tuples for windowed queries, the queries, and what they answer by counting alone.

Streams A, B and C of (i: number, k: key, v: value, t: tick). Every batch is so many ticks long,
whatever its size, and begins with a new tick. Keys are as many as give about one result a tuple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT

SCHEMA: Final = Schema.parse("i bigint, k bigint, v bigint, t bigint")
STREAMS: Final = ("A", "B", "C")
#: Ticks of a batch where not said otherwise, and those a window reaches back.
TICKS: Final = 1_000
WINDOW: Final = 1_000
#: Groups of the aggregate.
GROUPS: Final = 200
#: Values are below.
VALUES: Final = 1_000
_PRIMES: Final = (7_919, 104_729, 1_299_709, 15_485_863)
_MODULUS: Final = 1_000_003

Ints = NDArray[np.int64]


class DifferentResults(Exception):
    """A variant has found other results than there are."""


class Answered(NamedTuple):
    """Results, and a sum over them that tells them from others."""

    n: int
    checksum: int


def answered(columns: Sequence[Any]) -> Answered:
    """Of results, given by columns of integers."""
    if not len(columns[0]):
        return Answered(0, 0)
    parts = [np.asarray(column) * prime for column, prime in zip(columns, _PRIMES, strict=False)]
    return Answered(len(columns[0]), int((np.sum(parts, axis=0) % _MODULUS).sum()))


def answered_sql(columns: Sequence[str]) -> str:
    """The summand of the same checksum as an expression of Spark SQL."""
    parts = [f"{column} * {prime}" for column, prime in zip(columns, _PRIMES, strict=False)]
    return f"({' + '.join(parts)}) % {_MODULUS}"


@dataclass(frozen=True)
class Question:
    """A continuous query and the tuples it is asked about. n_tuples: of a batch, all streams
    together; ticks: that it is long. columns: of its results, what the checksum is of."""

    name: str
    n_streams: int
    text: str
    columns: tuple[str, ...]
    n_tuples: int
    ticks: int = TICKS

    @property
    def streams(self) -> tuple[str, ...]:
        """Those it reads."""
        return STREAMS[: self.n_streams]

    @property
    def n_each(self) -> int:
        """Tuples of each stream in a batch."""
        return self.n_tuples // self.n_streams

    @property
    def n_keys(self) -> int:
        """Values of k. With as many keys as a window holds tuples of a stream, each tuple that
        comes finds one partner in each other stream."""
        return GROUPS if self.n_streams == 1 else max(1, self.n_each * WINDOW // self.ticks)

    @property
    def n_filling(self) -> int:
        """Batches that fill a window."""
        return max(1, WINDOW // self.ticks)

    def source(self, stream: str) -> DrawnTuples:
        """The tuples of a stream."""
        return DrawnTuples(self.n_each, self.n_keys, STREAMS.index(stream), self.ticks)

    def expected(self, n_batches: int, until: int | None = None) -> Answered:
        """The results of some batches with a tick before ``until``; None: of joins all, of the
        aggregate those up to the newest tuple of each group."""
        drawn = [self.source(stream).columns(0, n_batches * self.n_each) for stream in self.streams]
        if self.n_streams == 1:
            ends = np.zeros(self.n_keys, np.int64)
            np.maximum.at(ends, drawn[0]["k"], drawn[0]["t"] + 1)
            return answered(changed_groups(drawn[0], ends if until is None else until))
        before = n_batches * self.ticks if until is None else until
        kept = [{name: own[name][own["t"] < before] for name in own} for own in drawn]
        return answered(combinations(kept))


def aggregate(n_tuples: int, window: int = WINDOW, ticks: int = TICKS) -> Question:
    """Counts and sums over a window, by key. What is expected is so of WINDOW alone."""
    text = f"Select k, Count(*) As n, Sum(v) As s From A [Range {window} Seconds] Group By k"
    return Question("aggregate", 1, text, ("k", "tau", "n", "s"), n_tuples, ticks)


def join(n_streams: int, n_tuples: int, ticks: int = TICKS) -> Question:
    """Tuples of two or three streams with the same key, inside one window. The key is told with
    them: equal changes are netted, so only where it is among them shards can do that apart."""
    streams = STREAMS[:n_streams]
    names = [f"{stream.lower()}i" for stream in streams]
    select = ", ".join(f"{stream}.i As {name}" for stream, name in zip(streams, names, strict=True))
    read = ", ".join(f"{stream} [Range {WINDOW} Seconds]" for stream in streams)
    same = " And ".join(f"A.k = {stream}.k" for stream in streams[1:])
    text = f"Istream(Select A.k, {select} From {read} Where {same})"
    return Question(f"join of {n_streams}", n_streams, text, tuple(names), n_tuples, ticks)


class DrawnTuples:
    """A stream without end; its tuples depend on their numbers alone. n_each: of a batch, which is
    so many ticks long; stream: its number."""

    schema = SCHEMA
    n_tuples: int | None = None

    def __init__(self, n_each: int, n_keys: int, stream: int, ticks: int) -> None:
        self._n_each, self._n_keys, self._stream, self._ticks = n_each, n_keys, stream, ticks

    def columns(self, start: int, count: int) -> dict[str, Ints]:
        """By attribute."""
        i = np.arange(start, start + count, dtype=np.int64)
        t = i // self._n_each * self._ticks + i % self._n_each * self._ticks // self._n_each
        k = _drawn(i, 2 * self._stream) % self._n_keys
        return {"i": i, "k": k, "v": _drawn(i, 2 * self._stream + 1) % VALUES, "t": t}

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``."""
        table = pa.table(self.columns(start, count))
        return table.append_column(CORRUPT, pa.nulls(count, pa.string()))


def _drawn(numbers: Ints, salt: int) -> Ints:
    """Evenly spread non-negative numbers (the last steps of SplitMix64)."""
    x = numbers.astype(np.uint64) + np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def combinations(streams: Sequence[Mapping[str, Ints]]) -> list[Ints]:
    """Numbers of the tuples, one of each stream, that have one key and lie within a window."""
    numbers = [streams[0]["i"]]
    key, first, last = streams[0]["k"], streams[0]["t"], streams[0]["t"]
    for own in streams[1:]:
        order = np.lexsort((own["t"], own["k"]))
        span = int(own["t"].max(initial=0)) + 2 * WINDOW + 2
        place = own["k"][order] * span + own["t"][order] + WINDOW
        begin = np.searchsorted(place, key * span + np.maximum(last, 0))
        end = np.searchsorted(place, key * span + first + 2 * WINDOW, side="right")
        n = np.maximum(end - begin, 0)
        left = np.repeat(np.arange(len(key)), n)
        right = order[np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n) + np.repeat(begin, n)]
        numbers = [column[left] for column in numbers] + [own["i"][right]]
        key, t = key[left], own["t"][right]
        first, last = np.minimum(first[left], t), np.maximum(last[left], t)
    return numbers


def changed_groups(stream: Mapping[str, Ints], until: int | Ints) -> list[Ints]:
    """k, τ, count and sum wherever those of a group that is there have changed. until: the tick
    before which, for all groups or by key."""
    key, t = np.tile(stream["k"], 2), np.concatenate([stream["t"], stream["t"] + WINDOW + 1])
    sign = np.repeat(np.array([1, -1]), len(stream["t"]))
    order = np.lexsort((t, key))
    key, t, sign = key[order], t[order], sign[order]
    value = sign * np.tile(stream["v"], 2)[order]
    n, total = np.cumsum(sign), np.cumsum(value)  # all a group gives goes: no group adds to another
    is_last = np.ones(len(t), np.bool_)
    is_last[:-1] = (key[1:] != key[:-1]) | (t[1:] != t[:-1])
    key, t, n, total = (column[is_last] for column in (key, t, n, total))
    is_same = np.zeros(len(t), np.bool_)
    is_same[1:] = (key[1:] == key[:-1]) & (n[1:] == n[:-1]) & (total[1:] == total[:-1])
    kept = ~is_same & (n > 0) & (t < (until if isinstance(until, int) else until[key]))
    return [column[kept] for column in (key, t, n, total)]
