"""Rows of a window's tuples and lists of candidates: kept in regions, or made of runs for a batch.

Of a state in runs the regions hold bytes of tuples alone, those in memory and those beside, and
what else is known of runs; rows, trees and candidates are made of them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.shedding.rules import ShedRules
from backend.operators.network.shedding.words import (
    BESIDE,
    BESIDE_BYTES,
    BESIDE_GROUPS,
    CODED_BYTES,
    CODED_GROUPS,
    IS_CODED,
    LAST,
    LOST,
    MEMORY,
    N_ALONE,
    N_LOST,
    N_MEMORY,
    NEWEST,
    NEXT,
    NUMBER,
    OLDEST,
    PREV,
    RUN_BYTES,
    TUPLE_WORDS,
    UNUSED,
    USED,
    Floats,
    ShedArrays,
)
from backend.operators.network.temporal.shed_coded import (
    MOST_BYTES,
    bytes_as_runs,
    decode,
    encode,
    plant,
)

_FIRST: Final = 64
#: Arrays of rows -> their type, and values of a row.
_ARRAYS: Final = {
    "tuples": ("int64", TUPLE_WORDS),
    "scores": ("float64", 1),
    "heap": ("int64", 1),
    "opens": ("int64", 1),
    "dirty": ("int64", 1),
}
#: Trees whose tuples are kept as runs -> where, and facts: bytes and value groups.
_CODED: Final = {
    MEMORY: ("coded", CODED_BYTES, CODED_GROUPS),
    BESIDE: ("coded_beside", BESIDE_BYTES, BESIDE_GROUPS),
}


class ShedRows:
    """Of one window, as tuples or as runs."""

    def __init__(self, regions: Regions, facts: Ints, as_runs: bool) -> None:
        """as_runs: how the state is left; it may have been otherwise."""
        self._regions, self._facts, self._as_runs = regions, facts, as_runs
        self._arrays: dict[str, NDArray[Any]] = {}
        for name, (dtype, width) in _ARRAYS.items():
            if not as_runs:
                self._arrays[name] = regions.array(name, dtype, _FIRST * width)
            elif facts[IS_CODED] or not facts[USED]:
                self._arrays[name] = np.zeros(_FIRST * width, dtype)
            else:
                self._arrays[name] = regions.array(name, dtype, 0).copy()
                regions.drop(name)

    def __len__(self) -> int:
        """Rows that there is room for."""
        return len(self._arrays["scores"])

    def make_room(self, n: int) -> None:
        """For so many rows in all."""
        if n <= len(self):
            return
        n = max(2 * len(self), n)
        for name, (dtype, width) in _ARRAYS.items():
            if not self._as_runs:
                self._arrays[name] = self._regions.resized(name, n * width)
            else:
                grown = np.zeros(n * width, dtype)
                grown[: len(self._arrays[name])] = self._arrays[name]
                self._arrays[name] = grown

    def arrays(self, roots: Ints) -> ShedArrays:
        """As kernels take them. roots: int64[groups, 2], of both trees."""
        own = self._arrays
        scores: Floats = own["scores"]
        tuples: Ints = own["tuples"].reshape(-1, TUPLE_WORDS)
        return ShedArrays(
            tuples=tuples,
            roots=roots,
            heap=own["heap"],
            scores=scores,
            opens=own["opens"],
            dirty=own["dirty"],
            facts=self._facts,
        )

    # ------------------------------------------------------------------ runs

    def read(self, by_rows: bool, roots: Ints) -> None:
        """Make rows of the bytes; candidates, and the tree beside, are to be built yet."""
        facts = self._facts
        n_memory, n = int(facts[N_MEMORY]), int(facts[N_MEMORY] + facts[N_ALONE])
        self.make_room(n)
        shed = self.arrays(roots)
        shed.tuples[:] = 0
        roots[:] = 0
        for tree, (name, n_bytes, n_groups) in _CODED.items():
            coded = self._regions.array(name, "uint8", 0)[: facts[n_bytes]]
            heads = self._regions.array(f"{name}_groups", "int32", 0)[: 2 * facts[n_groups]]
            first = 0 if tree == MEMORY else n_memory
            decode(tree, by_rows, first, heads.reshape(-1, 2), coded, shed.tuples)
        lost = self._regions.array("lost", "int64", 0)[: 2 * facts[N_LOST]].reshape(-1, 2)
        shed.tuples[lost[:, 0], LOST] = lost[:, 1]
        plant(n_memory, shed)
        self._link(n, shed.tuples)
        if not self._as_runs:
            self._forget_runs()

    def _link(self, n: int, tuples: Ints) -> None:
        """Rows are linked by arrival."""
        facts, order = self._facts, np.argsort(tuples[:n, NUMBER])
        tuples[order[1:], PREV] = order[:-1] + 1
        tuples[order[:-1], NEXT] = order[1:] + 1
        facts[OLDEST], facts[LAST] = (order[0] + 1, order[-1] + 1) if n else (0, 0)
        facts[NEWEST] = facts[LAST] * (facts[NEWEST] > 0)
        facts[USED], facts[UNUSED] = n, 0

    def _forget_runs(self) -> None:
        for name, *_ in _CODED.values():
            self._regions.drop(name)
            self._regions.drop(f"{name}_groups")
        self._regions.drop("lost")
        self._facts[IS_CODED] = 0

    def keep(self, rules: ShedRules, roots: Ints) -> None:
        """Leave the state in its form; the rows stay what they are."""
        if not self._as_runs:
            return
        facts, shed = self._facts, self.arrays(roots)
        for tree, (name, n_bytes, n_groups) in _CODED.items():
            n = int(facts[N_MEMORY if tree == MEMORY else N_ALONE])
            coded, heads = np.empty(MOST_BYTES * n, np.uint8), np.empty((n, 2), np.int64)
            lost = np.empty((n, 2), np.int64)
            sizes = encode(tree, rules.by_rows, shed, coded, heads, lost) if n else (0, 0, 0)
            facts[n_bytes], facts[n_groups], n_lost = sizes
            self._write(name, "uint8", coded[: sizes[0]])
            self._write(f"{name}_groups", "int32", heads[: sizes[1]].ravel())
            if tree == MEMORY:
                facts[N_LOST] = n_lost
                self._write("lost", "int64", lost[:n_lost].ravel())
        facts[RUN_BYTES] = facts[CODED_BYTES] + rules.group_bytes * facts[CODED_GROUPS]
        facts[IS_CODED] = 1

    def _write(self, name: str, dtype: str, content: NDArray[Any]) -> None:
        """Into a region of its size, or at most twice of it."""
        region = self._regions.array(name, dtype, len(content))
        if not len(content) <= len(region) <= 2 * len(content):
            self._regions.drop(name)
            region = self._regions.array(name, dtype, len(content))
        region[: len(content)] = content

    def bytes_as_runs(self, rules: ShedRules, roots: Ints) -> int:
        """Of what is in memory, whatever the form."""
        return int(bytes_as_runs(rules, self.arrays(roots)))

    def beside_bytes(self, rules: ShedRules) -> int:
        """Of what is beside: of tuples that are in no memory, and what went from runs."""
        facts = self._facts
        if not self._as_runs:
            return int(16 * facts[N_ALONE])
        n = facts[BESIDE_BYTES] + rules.group_bytes * facts[BESIDE_GROUPS]
        return int(n + 16 * facts[N_LOST])
