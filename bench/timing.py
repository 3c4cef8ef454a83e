"""Paired timing: the variants take turns, so that a drifting machine drifts for all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def take_turns(
    variants: Mapping[str, Callable[[], T]], rounds: int, rare: Mapping[str, int] | None = None
) -> tuple[dict[str, list[float]], dict[str, T]]:
    """Seconds per round and the last result of each variant; one warm-up round is not counted.

    rare: variants that take so long that they run fewer rounds.
    """
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    results: dict[str, T] = {}
    for turn in range(rounds + 1):
        for name, variant in variants.items():
            if turn > (rare or {}).get(name, rounds):
                continue
            started = time.perf_counter()
            results[name] = variant()
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return seconds, results


def table(seconds: Mapping[str, list[float]], n_tuples: int, base: str) -> str:
    """Median, range and tuples/s of each variant, and its time relative to ``base``."""
    unit = statistics.median(seconds[base])
    lines = [f"{'':42} {'median s':>9} {'min..max s':>17} {'M tuples/s':>11} {'x ' + base:>16} n"]
    for name, times in seconds.items():
        middle = statistics.median(times)
        extent = f"{min(times):.3f}..{max(times):.3f}"
        speed = n_tuples / middle / 1e6
        lines.append(
            f"{name:42} {middle:9.3f} {extent:>17} {speed:11.2f} {middle / unit:16.2f} {len(times)}"
        )
    return "\n".join(lines)


def spread(values: Sequence[float], unit: str) -> str:
    """Median, 95th percentile and largest of values, in words."""
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    middle = statistics.median(ordered)
    return f"p50 {middle:.0f}, p95 {high:.0f}, max {ordered[-1]:.0f} {unit} (n = {len(ordered)})"
