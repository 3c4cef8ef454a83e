"""Pipelined execution tuple by tuple: slow, obvious, exact. [B05] §4.3.1"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from backend.model.filters import DROPPED, PASSED, UNKNOWN, Probing
from bench.counted import Counted
from tests.oracles.filters import Drops


def execute(
    drops: Drops,
    names: Sequence[str],
    order: Sequence[str],
    probing: Probing,
    profiled: Sequence[bool],
) -> Counted:
    """Each tuple meets the filters in order until one drops it; a sampled one goes on."""
    evaluated, dropped, probed = Counter[str](), Counter[str](), Counter[str]()
    rows: list[list[int]] = []
    n_passed = n_matched = 0
    for row, is_profiled in zip(drops, profiled, strict=True):
        verdict = dict(zip(names, row, strict=True))
        known: dict[str, int] = {}
        dropper = None
        for name in order:
            evaluated[name] += 1
            known[name] = DROPPED if verdict[name] else PASSED
            if verdict[name]:
                dropper = name
                dropped[name] += 1
                break
        n_matched += dropper is None
        if not is_profiled:
            continue
        if dropper is None:
            n_passed += 1
            continue
        rest = list(order[list(order).index(dropper) + 1 :])
        for name in _asked(rest, probing):
            probed[name] += 1
            known[name] = DROPPED if verdict[name] else PASSED
        rows.append([known.get(name, UNKNOWN) for name in order])
    return Counted(
        n_matched,
        {name: evaluated[name] for name in order},
        {name: dropped[name] for name in order},
        np.array(rows, dtype=np.int8).reshape(len(rows), len(order)),
        n_passed,
        {name: probed[name] for name in order},
    )


def _asked(rest: list[str], probing: Probing) -> list[str]:
    if probing.rule == "all":
        return rest
    if probing.rule == "next":
        return rest[:1]
    return [name for name in rest if probing.rule == "one" and name == probing.filter]
