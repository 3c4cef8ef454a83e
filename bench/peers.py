"""ASC and the predicate indexes of its time: the sweeps of [L07] Fig. 4 and 5 in compiled code.

One attribute, values 0..999; different predicates, with = alone (Fig. 4) and with <, <=, > and >=
(Fig. 5). Each index writes the satisfied predicates of each tuple as a bitmap; all bitmaps are
compared in the same run. ``python -m bench peers``.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from backend.model.conditions import Op
from bench.peers_build import PEERS, Predicate, Search
from bench.timing import take_turns

N_VALUES: Final = 1000
N_TUPLES: Final = 200_000
#: Tuples searched for at a time; their bitmaps stay in the cache.
BLOCK: Final = 1024
ROUNDS: Final = 3
SWEEPS: Final[tuple[tuple[str, tuple[Op, ...], tuple[int, ...]], ...]] = (
    ("Fig. 4: = alone", ("=",), (50, 100, 200, 400, 800)),
    ("Fig. 5: <, <=, >, >= alone", ("<", "<=", ">", ">="), (50, 100, 200, 400, 800, 1600)),
)


def main(n_tuples: int = N_TUPLES) -> None:
    """Print both sweeps: million tuples a second on one core, of every index."""
    rng = np.random.default_rng(7)
    values = rng.integers(0, N_VALUES, n_tuples)
    for title, ops, counts in SWEEPS:
        print(f"\n{title}; M tuples/s, one core, median of {ROUNDS}; {n_tuples} tuples")
        print(f"  {'predicates':24}" + "".join(f"{n:>9}" for n in counts))
        speeds = [_speeds(predicates_of(rng, ops, n), values) for n in counts]
        for name in PEERS:
            print(f"  {name:24}" + "".join(f"{rates[name]:9.2f}" for rates in speeds), flush=True)


def predicates_of(rng: np.random.Generator, ops: Sequence[Op], n: int) -> list[Predicate]:
    """n different predicates with constants among the values."""
    chosen = rng.permutation(len(ops) * N_VALUES)[:n]
    return [(ops[int(c) // N_VALUES], int(c) % N_VALUES) for c in chosen]


def _speeds(predicates: Sequence[Predicate], values: np.ndarray) -> dict[str, float]:
    searches = {name: build(predicates) for name, build in PEERS.items()}
    _same_bitmaps(searches, values[:BLOCK], len(predicates))
    variants = {name: _runner(search, values, len(predicates)) for name, search in searches.items()}
    seconds, _ = take_turns(variants, ROUNDS)
    return {name: len(values) / statistics.median(times) / 1e6 for name, times in seconds.items()}


def _runner(search: Search, values: np.ndarray, n: int) -> Callable[[], None]:
    out = np.empty((BLOCK, -(-n // 64)), dtype=np.uint64)

    def run() -> None:
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            search(block, out[: len(block)])

    return run


def _same_bitmaps(searches: dict[str, Search], values: np.ndarray, n: int) -> None:
    """Raises AssertionError when an index finds other predicates than the first."""
    n_words = -(-n // 64)
    used = np.arange(64 * n_words) < n
    mask = np.packbits(used, bitorder="little").view("<u8")
    expected = None
    for name, search in searches.items():
        out = np.zeros((len(values), n_words), dtype=np.uint64)
        search(values, out)
        bitmap = out & mask
        if expected is not None and not np.array_equal(bitmap, expected):
            raise AssertionError(f"{name} finds other predicates than the first index")
        expected = bitmap
