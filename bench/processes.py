"""Processor time of processes, as Linux counts it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_s(process: int) -> float:
    """Seconds of processor time of a process and of its children that have ended; 0.0 if it has
    ended itself: its time is its parent's."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def tree(process: int) -> list[int]:
    """A process and all below it."""
    found, waiting = [], [process]
    while waiting:
        one = waiting.pop()
        found.append(one)
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                waiting += map(int, children.read_text().split())
            except OSError:  # the thread has ended
                continue
    return found
