"""The synthetic set-up of [B05] §4.7: filters in correlation groups, selectivities that move.

Tuples are keys k1..kn; filter i passes a tuple when its key is in an index of 10 000 entries. With
correlation factor Γ the filters form groups of Γ; filters of different groups are independent,
those of one group decide alike on 80 % of the tuples. Reconstruction (the text gives no more): a
filter copies its group's uniform draw with probability q = sqrt((0.8 - b) / (1 - b)), where
b = s^2 + (1 - s)^2 is agreement by chance, else draws its own; it passes when the draw is below s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.json_options import is_number, parsed
from backend.workloads.library import INDEX_ENTRIES

#: Tuples drawn from one random stream; any slice is made of whole blocks, cut.
BLOCK_TUPLES: Final = 8192
DEFAULT_TUPLES: Final = 2_000_000
MOST_FILTERS: Final = 20
AGREEMENT: Final = 0.8


class CorrelatedError(ValueError):
    """Options that cannot be; the message says what is allowed."""


def correlated_schema(n_filters: int) -> Schema:
    """Keys k1..kn."""
    return Schema.parse(", ".join(f"k{i} bigint" for i in range(1, n_filters + 1)))


def selectivities_from_json(text: str) -> tuple[float, ...]:
    """The ``selectivities`` option: a list of numbers within 0..1. Raises CorrelatedError."""
    values = parsed(text)
    numbers = isinstance(values, list) and all(map(is_number, values))
    if not numbers or not 1 <= len(values) <= MOST_FILTERS:
        raise CorrelatedError(f"selectivities must be a list of 1 to {MOST_FILTERS} numbers")
    if any(not 0 <= v <= 1 for v in values):
        raise CorrelatedError("selectivities must be within 0..1")
    return tuple(float(v) for v in values)


def copy_prob(selectivity: float) -> float:
    """q: with it a filter copies its group's draw; 0 where agreement by chance exceeds 80 %."""
    chance = selectivity**2 + (1 - selectivity) ** 2
    return float(np.sqrt(max(0.0, AGREEMENT - chance) / (1 - chance))) if chance < 1 else 0.0


class CorrelatedSource:
    """The stream. selectivities: of filter 1..n; every ``period`` tuples they are permuted anew, by
    seed (0: never). gamma: Γ, filters a group. regimes: after so many permutations the first one
    comes back (0: none does)."""

    def __init__(
        self,
        seed: int,
        selectivities: Sequence[float],
        gamma: int = 2,
        period: int = 0,
        n_tuples: int = DEFAULT_TUPLES,
        regimes: int = 0,
    ) -> None:
        self.seed, self.selectivities = seed, tuple(selectivities)
        self.gamma, self.period, self.n_tuples = gamma, period, n_tuples
        self.regimes, self.schema = regimes, correlated_schema(len(selectivities))

    def selectivities_at(self, position: int) -> tuple[float, ...]:
        """The selectivity of each filter for the tuple at ``position``."""
        turn = position // self.period if self.period else 0
        turn = turn % self.regimes if self.regimes else turn
        if not turn:
            return self.selectivities
        rng = np.random.Generator(np.random.Philox(key=[self.seed, 1 << 50 | turn]))
        return tuple(self.selectivities[i] for i in rng.permutation(len(self.selectivities)))

    def passes(self, start: int, count: int) -> NDArray[np.bool_]:
        """bool[count, n]: which filters tuples ``start`` .. pass."""
        n = len(self.selectivities)
        passed = np.empty((count, n), dtype=np.bool_)
        done = 0
        while done < count:
            block, offset = divmod(start + done, BLOCK_TUPLES)
            take = min(BLOCK_TUPLES - offset, count - done)
            if self.period:
                take = min(take, self.period - (start + done) % self.period)
            shares = np.array(self.selectivities_at(start + done))
            passed[done : done + take] = self._draws(block, shares)[offset : offset + take] < shares
            done += take
        return passed

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, drawn anew at each call."""
        count = max(0, min(count, self.n_tuples - start))
        passes = self.passes(start, count)
        places = np.arange(start, start + count)[:, None] * 31 + np.arange(passes.shape[1]) * 977
        keys = places % INDEX_ENTRIES + np.where(passes, 0, INDEX_ENTRIES)
        columns: list[pa.Array[Any]] = [pa.array(keys[:, i]) for i in range(keys.shape[1])]
        names = [*self.schema.names, CORRUPT]
        return pa.Table.from_arrays([*columns, pa.nulls(count, pa.string())], names=names)

    def _draws(self, block: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[BLOCK_TUPLES, n]: the uniform draw each filter decides on."""
        rng = np.random.Generator(np.random.Philox(key=[self.seed, block]))
        n = len(shares)
        shared = rng.random((BLOCK_TUPLES, -(-n // self.gamma)))
        own, copied = rng.random((2, BLOCK_TUPLES, n))
        groups = np.arange(n) // self.gamma
        copies = copied < np.array([copy_prob(float(s)) for s in shares])
        return np.where(copies, shared[:, groups], own)
