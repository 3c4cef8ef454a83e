"""What the re-optimizer remembers: the last τ sampled tuples, and the counts of the last λ."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.systems.asc.constructs import Construct, ConstructSet
from backend.systems.asc.matching import Regions, sample_regions


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The sampled tuples of one batch: raw values by attribute, and their regions intp[T, n].

    end: tuples seen when the batch was over.
    """

    end: int
    values: Mapping[str, Sequence[Any]]
    regions: Regions

    def last(self, n: int) -> _Chunk:
        """The chunk cut to its last n >= 1 tuples."""
        values = {a: v[-n:] for a, v in self.values.items()}
        return _Chunk(self.end, values, self.regions[-n:])


class _Known(NamedTuple):
    """Regions intp[T, n] over the constructs of before."""

    constructs: ConstructSet
    regions: Regions

    def is_same(self, construct: Construct) -> bool:
        """Whether the regions of the construct's attribute are what they were."""
        before = self.constructs.constructs.get(construct.attribute)
        return before is not None and before.constants == construct.constants

    def column(self, construct: Construct) -> NDArray[np.intp]:
        """intp[T]: the regions hit on the construct's attribute."""
        return self.regions[:, self.constructs.attributes.index(construct.attribute)]


class SampleWindow:
    """A ring of the last τ sampled raw tuples; raw, so that it survives a change of queries."""

    def __init__(self, constructs: ConstructSet) -> None:
        self._constructs = constructs
        self._chunks: deque[_Chunk] = deque()
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, sample: Mapping[str, Sequence[Any]], end: int, tau: int) -> Regions:
        """Remember a batch's sample, forget all but the last ``tau`` tuples; returns its regions.

        end: tuples seen when the batch was over. A sample that lacks a p-attribute (taken before
        its query was registered) counts as empty.
        """
        chunk = self._chunk(sample, end)
        if len(chunk.regions):
            self._chunks.append(chunk)
            self._n += len(chunk.regions)
            self.trim(tau)
        return chunk.regions

    def trim(self, tau: int) -> None:
        """Keep the last ``tau`` tuples."""
        while self._n > tau:
            oldest = self._chunks.popleft()
            surplus = self._n - tau
            self._n -= len(oldest.regions)
            if len(oldest.regions) > surplus:
                kept = oldest.last(len(oldest.regions) - surplus)
                self._chunks.appendleft(kept)
                self._n += len(kept.regions)

    def rebuild(self, constructs: ConstructSet) -> None:
        """Go over to other constructs; samples lacking a newly used attribute are dropped."""
        known, self._constructs = self._constructs, constructs
        chunks = [self._chunk(c.values, c.end, _Known(known, c.regions)) for c in self._chunks]
        self._chunks = deque(c for c in chunks if len(c.regions))
        self._n = sum(len(c.regions) for c in self._chunks)

    def regions(self, since: int = 0) -> Regions:
        """intp[T, n]: regions of the window's tuples from batches that ended after ``since``.

        since: a number of tuples seen, on the same clock as ``end`` of ``add``.
        """
        chunk_regions = [c.regions for c in self._chunks if c.end > since]
        n_attributes = len(self._constructs.attributes)
        return (
            np.concatenate(chunk_regions)
            if chunk_regions
            else np.zeros((0, n_attributes), dtype=np.intp)
        )

    def count(self, since: int) -> int:
        """How many tuples ``regions`` of ``since`` has."""
        return sum(len(c.regions) for c in self._chunks if c.end > since)

    def recent(self, n: int) -> tuple[list[dict[str, Any]], Regions]:
        """The last n >= 1 tuples, newest last: raw values of the p-attributes, and regions."""
        rows: list[dict[str, Any]] = []
        for chunk in reversed(self._chunks):
            taken = chunk.last(n - len(rows))
            columns = [taken.values[a] for a in self._constructs.attributes]
            values = zip(*columns, strict=True) if columns else [()] * len(taken.regions)
            names = self._constructs.attributes
            rows = [*(dict(zip(names, row, strict=True)) for row in values), *rows]
            if len(rows) >= n:
                break
        return rows, self.regions()[self._n - len(rows) :]

    def _chunk(
        self, sample: Mapping[str, Sequence[Any]], end: int, known: _Known | None = None
    ) -> _Chunk:
        if any(a not in sample for a in self._constructs.attributes):
            empty = np.zeros((0, len(self._constructs.attributes)), dtype=np.intp)
            return _Chunk(end, {}, empty)
        if known is None or not self._constructs.attributes:
            return _Chunk(end, sample, sample_regions(self._constructs, sample))
        columns = [
            known.column(construct)
            if known.is_same(construct)
            else construct.regions_of(sample[construct.attribute])
            for construct in self._constructs.constructs.values()
        ]
        return _Chunk(end, sample, np.column_stack(columns))


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Exact counts of one batch."""

    n_tuples: int
    n_matched: int
    visits: int


class CountWindow:
    """The counts of the last λ tuples under the plan in force, in whole batches."""

    def __init__(self) -> None:
        self._batches: deque[BatchCounts] = deque()
        self.n_tuples = self._n_matched = self._visits = 0

    def add(self, counts: BatchCounts, lambda_tuples: int) -> None:
        """Append a batch and forget the oldest while the others still hold λ tuples."""
        self._batches.append(counts)
        self._account(counts, 1)
        while self.n_tuples - self._batches[0].n_tuples >= lambda_tuples:
            self._account(self._batches.popleft(), -1)

    def clear(self) -> None:
        """Forget everything: another plan is in force."""
        while self._batches:
            self._account(self._batches.popleft(), -1)

    @property
    def dropping_ratio(self) -> float | None:
        """d = unmatched / all tuples (eq. 3 over the window), None without tuples."""
        return (self.n_tuples - self._n_matched) / self.n_tuples if self.n_tuples else None

    @property
    def visits(self) -> float | None:
        """Constructs really visited per tuple, None without tuples."""
        return self._visits / self.n_tuples if self.n_tuples else None

    def _account(self, counts: BatchCounts, sign: int) -> None:
        self.n_tuples += sign * counts.n_tuples
        self._n_matched += sign * counts.n_matched
        self._visits += sign * counts.visits
