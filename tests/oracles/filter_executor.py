"""Pipelined execution tuple by tuple: slow, obvious, exact. [B05] §4.3.1"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from backend.model.filters import DROPPED, PASSED, UNKNOWN, Probing, WholeTuples
from bench.counted import Counted
from tests.oracles.filters import Drops


def execute(
    drops: Drops,
    names: Sequence[str],
    order: Sequence[str],
    probing: Probing,
    profiled: Sequence[bool],
    whole: Sequence[bool] | None = None,
) -> Counted:
    """Each tuple meets the filters in order until one drops it; a sampled one goes on, a whole one
    to those that are spared, too."""
    evaluated, dropped, probed = Counter[str](), Counter[str](), Counter[str]()
    rows, wholes = list[list[int]](), list[bool]()
    n_passed = n_passed_whole = n_matched = 0
    for row, is_profiled, is_whole in zip(drops, profiled, whole or profiled, strict=True):
        verdict = dict(zip(names, row, strict=True))
        dropper = next((name for name in order if verdict[name]), None)
        place = len(order) if dropper is None else list(order).index(dropper)
        evaluated.update(order[: place + 1])
        dropped.update(order[place : place + 1])
        n_matched += dropper is None
        if not is_profiled or dropper is None:
            n_passed += is_profiled
            n_passed_whole += is_profiled and is_whole
            continue
        wholes.append(is_whole)
        asked = _asked(list(order[place + 1 :]), dropper, probing, is_whole)
        probed.update(asked)
        known = {*order[: place + 1], *asked}
        outcomes = {name: DROPPED if verdict[name] else PASSED for name in known}
        rows.append([outcomes.get(name, UNKNOWN) for name in order])
    return Counted(
        n_matched,
        {name: evaluated[name] for name in order},
        {name: dropped[name] for name in order},
        np.array(rows, dtype=np.int8).reshape(len(rows), len(order)),
        n_passed,
        {name: probed[name] for name in order},
        WholeTuples(np.array(wholes, dtype=np.bool_), n_passed_whole) if probing.spared else None,
    )


def _asked(rest: list[str], dropper: str, probing: Probing, is_whole: bool) -> list[str]:
    asked = _of_rule(rest, probing)
    return [name for name in asked if is_whole or (name, dropper) not in probing.spared]


def _of_rule(rest: list[str], probing: Probing) -> list[str]:
    if probing.rule == "all":
        return rest
    if probing.rule == "next":
        return rest[:1]
    return [name for name in rest if probing.rule == "one" and name == probing.filter]
