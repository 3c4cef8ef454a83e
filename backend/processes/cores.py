"""The cores of this machine that a process may use."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Those it is not kept from, at least one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
