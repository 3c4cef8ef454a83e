"""What is watched in the filters of a query, for display."""

from __future__ import annotations

from typing import NamedTuple

from backend.systems.agreedy.overhead import Overhead


class PipelineMonitor(NamedTuple):
    """What is watched at the moment; None = not known yet.

    window_tuples: dropped profile tuples in the window; n_passed: passes sampled with them.
    expected_us, first_us: cost per tuple of the present and the first order, on the window.
    order_gap: by what share the present order is dearer than the best one on the window.
    drop_prob: absolute drop probability by filter, on the window. cost_us: of a tuple, by filter;
    call_us: of a call besides, of filters that were timed.
    """

    window_tuples: int
    n_passed: int
    profile_prob: float
    expected_us: float | None
    first_us: float | None
    order_gap: float | None
    drop_prob: dict[str, float]
    cost_us: dict[str, float]
    call_us: dict[str, float]
    overhead: Overhead | None
    break_even_prob: float | None
