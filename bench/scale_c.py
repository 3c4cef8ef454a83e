"""The kernels of many words in C, on the same arrays, and what memory gives: the yardsticks."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backend.operators.selection.bits import kernel
from backend.operators.selection.layout import Layout

SOURCE: Final = """
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;

/* early drop under the resolved rule, one tile: as walks.walk without arrows */
int64_t walk(const u64 *initial, const u64 *qub, const int64_t *starts, const int32_t *row_at,
             const u64 *pool, const int32_t *regions, int64_t n, int64_t w, int64_t t,
             u64 *restrict grb, uint8_t *done, int64_t *reached, int64_t *dropped,
             int32_t *tuples, int32_t *slots) {
  int64_t found = 0;
  for (int64_t i = 0; i < t; i++) {
    memcpy(grb, initial, w * 8);
    memset(done, 0, n);
    u64 alive = 0;
    for (int64_t j = 0; j < w; j++) alive |= grb[j];
    int64_t last = -1;
    for (int64_t p = 0; p < n && alive; p++) {
      const u64 *own = qub + p * w;
      int useful = 0;
      for (int64_t j = 0; j < w; j++) if (grb[j] & own[j]) { useful = 1; break; }
      if (!useful) continue;
      const u64 *row = pool + row_at[starts[p] + regions[p * t + i]];
      alive = 0;
      for (int64_t j = 0; j < w; j++) { u64 x = grb[j] & row[j]; grb[j] = x; alive |= x; }
      done[p] = 1;
      last = p;
    }
    for (int64_t p = 0; p < n; p++) reached[p] += done[p];
    if (!alive) { if (last >= 0) dropped[last]++; continue; }
    for (int64_t j = 0; j < w; j++)
      for (u64 x = grb[j]; x; x &= x - 1) {
        tuples[found] = (int32_t)i;
        slots[found++] = (int32_t)(64 * j + __builtin_ctzll(x));
      }
  }
  return found;
}

/* no early drop, one tile: as backend.operators.selection.walks.visit_all */
int64_t visit_all(const u64 *initial, const u64 *qub, const int64_t *starts, const int32_t *row_at,
                  const u64 *pool, const int32_t *regions, int64_t n, int64_t w, int64_t t,
                  u64 *restrict grb, uint8_t *done, int64_t *reached, int64_t *dropped,
                  int32_t *tuples, int32_t *slots) {
  int64_t found = 0;
  for (int64_t i = 0; i < t; i++) {
    memcpy(grb, initial, w * 8);
    for (int64_t p = 0; p < n; p++) {
      const u64 *row = pool + row_at[starts[p] + regions[p * t + i]];
      for (int64_t j = 0; j < w; j++) grb[j] &= row[j];
    }
    for (int64_t j = 0; j < w; j++)
      for (u64 x = grb[j]; x; x &= x - 1) {
        tuples[found] = (int32_t)i;
        slots[found++] = (int32_t)(64 * j + __builtin_ctzll(x));
      }
  }
  for (int64_t p = 0; p < n; p++) reached[p] += t;
  return found;
}
"""
#: Without the two that gcc slows such loops down with, three to five times.
_FLAGS: Final = ("-fno-loop-unroll-and-jam", "-fno-loop-interchange", "-shared", "-fPIC")
FLAGS: Final = ("-O3", "-march=native", *_FLAGS)


def compiled() -> dict[str, Callable[[Layout, NDArray[np.int32], int], int]] | None:
    """Kind of plan -> the kernel in C: called with a layout of one tile, regions int32[n, T] and
    room for so many matches; returns the matches. None where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    with TemporaryDirectory() as folder:
        source, library = Path(folder) / "walk.c", Path(folder) / "walk.so"
        source.write_text(SOURCE)
        subprocess.run([compiler, *FLAGS, "-o", str(library), str(source)], check=True)
        loaded = ctypes.CDLL(str(library))
    loaded.walk.restype = loaded.visit_all.restype = ctypes.c_int64
    return {"early drop": _caller(loaded.walk), "no early drop": _caller(loaded.visit_all)}


def _caller(function: Any) -> Callable[[Layout, NDArray[np.int32], int], int]:
    def call(layout: Layout, regions: NDArray[np.int32], room: int) -> int:
        n, w = layout.qub.shape
        counts = np.zeros((2, n), dtype=np.int64)
        hits = np.empty((2, room), dtype=np.int32)
        grb, done = np.empty(w, dtype=np.uint64), np.empty(n, dtype=np.uint8)
        inputs = (layout.initial, layout.qub, layout.region_starts, layout.row_at, layout.pool)
        numbers = (n, w, regions.shape[1])
        arrays = (grb, done, counts[0], counts[1], hits[0], hits[1])
        return int(
            function(
                *(ctypes.c_void_p(a.ctypes.data) for a in (*inputs, regions)),
                *(ctypes.c_int64(number) for number in numbers),
                *(ctypes.c_void_p(a.ctypes.data) for a in arrays),
            )
        )

    return call


@kernel
def _any_of(words: NDArray[np.uint64]) -> int:
    union = np.uint64(0)
    for w in range(len(words)):
        union |= words[w]
    return 1 if union else 0


def bandwidth(n_bytes: int = 1 << 28, rounds: int = 5) -> float:
    """Bytes a second one thread reads from memory, the best of some rounds."""
    words = np.zeros(n_bytes // 8, dtype=np.uint64)
    times = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        _any_of(words)
        times.append(time.perf_counter() - started)
    return n_bytes / min(times[1:])
