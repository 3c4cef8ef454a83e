"""Seeded streams of which each joins each of the others on an attribute of its own ([W13] §9).

By phase the two streams of a pair draw the values of their attribute from a domain of another size:
the smaller it is, the more they have in common. Which route is cheapest, and what indexes are asked
for, changes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.draws import draws, seed_of
from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.json_options import parsed
from backend.workloads.keyed import START

MOST_STREAMS: Final = 6
_LETTERS: Final = "abcdef"
_MOST_DOMAIN: Final = 1 << 31


class CliqueError(ValueError):
    """An option that cannot be; the message says what is allowed."""


class CliquePhase(NamedTuple):
    """So many tuples of each stream. domains: of each pair, in the order ab, ac, ad, bc, bd, cd."""

    n_tuples: int
    domains: tuple[int, ...]


class CliqueTrace(NamedTuple):
    """What the streams have in common: they come in step. per_second: tuples of each stream; after
    the last phase the first begins again."""

    seed: int
    n_streams: int = 4
    phases: tuple[CliquePhase, ...] = (CliquePhase(5000, (100,) * 6),)
    per_second: int = 1000
    n_tuples: int = 1 << 31


def clique_schema(options: Mapping[str, str]) -> Schema:
    """The columns of one stream: time, then an attribute for each other stream, ``ab`` for a and b.
    Raises CliqueError."""
    return CliqueSource.of(0, options).schema


def pair_names(n_streams: int) -> list[str]:
    """``ab, ac, …``."""
    return ["".join(pair) for pair in combinations(_LETTERS[:n_streams], 2)]


def clique_trace(seed: int, options: Mapping[str, str]) -> CliqueTrace:
    """The trace that options of a source describe. Raises CliqueError."""
    usual = CliqueTrace(seed)
    n_streams = int(options.get("streams", usual.n_streams))
    if not 2 <= n_streams <= MOST_STREAMS:
        raise CliqueError(f"streams must be 2 to {MOST_STREAMS}, not {n_streams}")
    phases = _phases(options["phases"], n_streams) if "phases" in options else usual.phases
    return CliqueTrace(
        seed,
        n_streams,
        phases,
        int(options.get("per_second", usual.per_second)),
        int(options.get("n_tuples", usual.n_tuples)),
    )


def clique_stream(options: Mapping[str, str]) -> int:
    """The option ``stream``: a letter; its place. Raises CliqueError."""
    own, n = options.get("stream", ""), int(options.get("streams", 4))
    if len(own) != 1 or own not in _LETTERS[:n]:
        allowed = ", ".join(_LETTERS[:n])
        raise CliqueError(f"stream must be one of {allowed}, not {own!r}")
    return _LETTERS.index(own)


def _phases(text: str, n_streams: int) -> tuple[CliquePhase, ...]:
    n_pairs = n_streams * (n_streams - 1) // 2
    rows = parsed(text)
    good = isinstance(rows, list) and rows and all(_is_phase(row, n_pairs) for row in rows)
    if not good:
        raise CliqueError(
            f"phases must be a list of [tuples, [{n_pairs} sizes of domains, "
            f"{', '.join(pair_names(n_streams))}]], whole numbers from 1, not {text}"
        )
    return tuple(CliquePhase(n, tuple(domains)) for n, domains in rows)


def _is_phase(row: Any, n_pairs: int) -> bool:
    if not (isinstance(row, list) and len(row) == 2 and isinstance(row[1], list)):
        return False
    numbers = [row[0], *row[1]]
    return len(row[1]) == n_pairs and all(
        isinstance(n, int) and not isinstance(n, bool) and 1 <= n < _MOST_DOMAIN for n in numbers
    )


class CliqueSource:
    """One of the streams; the same position always gives the same tuple."""

    def __init__(self, stream: int, trace: CliqueTrace) -> None:
        self.trace, self._stream = trace, stream
        self._pairs = [
            (place, name)
            for place, name in enumerate(pair_names(trace.n_streams))
            if _LETTERS[stream] in name
        ]
        columns = ["t timestamp", *(f"{name} int" for _, name in self._pairs)]
        self.schema = Schema.parse(", ".join(columns))

    @classmethod
    def of(cls, seed: int, options: Mapping[str, str]) -> CliqueSource:
        """The source of a workload's options. Raises CliqueError."""
        return cls(clique_stream(options), clique_trace(seed, options))

    @property
    def n_tuples(self) -> int:
        """All that come."""
        return self.trace.n_tuples

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, fewer at the end."""
        places = np.arange(start, min(start + max(0, count), self.n_tuples))
        times = START + places * (1_000_000 // self.trace.per_second)
        domains = self._domains(places)
        columns: list[pa.Array[Any]] = [pa.array(times, pa.timestamp("us", "UTC"))]
        for place, _ in self._pairs:
            seed = seed_of(self.trace.seed, self._stream, place)
            drawn = draws(seed, places).astype(np.int64) * domains[:, place] >> 32
            columns.append(pa.array(drawn.astype(np.int32)))
        columns.append(pa.nulls(len(places), pa.string()))
        return pa.Table.from_arrays(columns, names=[*self.schema.names, CORRUPT])

    def _domains(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n, pairs]: of each place."""
        sizes = [phase.n_tuples for phase in self.trace.phases]
        ends = np.cumsum(sizes)
        phase = np.searchsorted(ends, places % ends[-1], side="right")
        by_phase = np.array([of.domains for of in self.trace.phases], np.int64)
        domains: NDArray[np.int64] = by_phase[phase]
        return domains
