"""The operator of a sample: tuples whose draw is below the share pass."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from backend.operators.contract import Chunk, Emitted, Work


@dataclass(frozen=True)
class SampleOperator:
    """Lets a share of the tuples, [0, 1], pass to all queries, which are sorted."""

    queries: tuple[str, ...]
    share: float

    @property
    def selects(self) -> bool:
        """There are queries."""
        return bool(self.queries)

    def open(self, batch_id: int, partition: int) -> Work:
        """Begin a task."""
        return _Sampling(self)

    def merged(self, reports: Sequence[bytes]) -> int:
        """Tuples that passed."""
        return sum(pickle.loads(report) for report in reports)


class _Sampling:
    def __init__(self, operator: SampleOperator) -> None:
        self._operator, self._n_passed = operator, 0

    def take(self, chunk: Chunk) -> Emitted:
        names = self._operator.queries
        passed = chunk.sampled(self._operator.share if names else 0.0)
        rows = np.flatnonzero(passed).astype(np.int32)
        self._n_passed += len(rows)
        ends = np.arange(len(rows) + 1, dtype=np.int32) * len(names)
        named = pa.ListArray.from_arrays(
            pa.array(ends), pa.array(list(names) * len(rows), "string")
        )
        return Emitted(rows, named, {})

    def report(self) -> bytes:
        return pickle.dumps(self._n_passed)
