"""What a filter took, on a machine that does other things, too. No pyspark here.

Wall time counts the time the processor was taken away; processor time does not count waiting. So:
processor time, unless the thread gave the processor up by itself (it slept, or waited for an
answer); then wall time.
"""

from __future__ import annotations

import time
from typing import Any

try:
    import resource

    _THREAD: Any = getattr(resource, "RUSAGE_THREAD", None)  # Linux has it, macOS has not
except ImportError:
    _THREAD = None


class Stopwatch:
    """Started when made. ``us``: microseconds since."""

    def __init__(self) -> None:
        self._waits = _voluntary_waits()
        self._cpu = time.thread_time_ns()
        self._wall = time.perf_counter_ns()

    def us(self) -> float:
        wall = time.perf_counter_ns() - self._wall
        cpu = time.thread_time_ns() - self._cpu
        waited = _voluntary_waits() != self._waits
        return (wall if waited or _THREAD is None else min(cpu, wall)) / 1e3


def _voluntary_waits() -> int:
    if _THREAD is None:
        return 0
    waits: int = resource.getrusage(_THREAD).ru_nvcsw
    return waits
