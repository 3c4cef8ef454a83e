"""What an order of filters costs on the profile window, from the recorded profiles alone.

Written from docs/introspection.md ("Details of filter decisions", ``profile``).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from storage.vocabulary.records import Decision

#: Algorithms that empty their window between decisions ask some of the filters only.
_WHOLE = ("a-greedy", "independent", "optimal", "static")
#: Of a batch: dropped tuples that are left, who drops each; how many there were, and passed.
_Batch = tuple[list[list[bool]], int, int]


def costs(decisions: Iterable[Decision]) -> Iterator[tuple[Decision, float]]:
    """Every check on a whole window, and what the order in force cost on it (us per tuple)."""
    window: list[_Batch] | None = None
    keep = 0
    for d in sorted(decisions, key=lambda d: d.seq):
        for step in d.detail.get("profile", ()):
            if d.algorithm not in _WHOLE:
                window = None
                continue
            keep = step.get("knobs", {}).get("window_tuples", keep)
            if "window" in step:
                window = [_batch(held, step["n_filters"]) for held in step["window"]]
            elif step["fresh"]:
                window = None
            elif window is not None:
                window.append(_batch(step, step["n_filters"]))
            if window is None:
                continue
            window = _last(window, keep)
            if "verdict" in step and _n_dropped(window) == d.detail["window_tuples"]:
                yield d, _mean(window, step["order"], [ps / 1e6 for ps in step["ps"]])
            if step["flushed"]:
                window = []


def _batch(row: Mapping[str, Any], n: int) -> _Batch:
    packed = base64.b64decode(row["drops"])
    bits = [bool(byte >> (7 - place) & 1) for byte in packed for place in range(8)]
    rows = [bits[at * n : (at + 1) * n] for at in range(row["k"])]
    return rows, row.get("n_dropped", row["k"]), row["passed"]


def _n_dropped(window: Sequence[_Batch]) -> int:
    return sum(len(rows) for rows, _, _ in window)


def _last(window: list[_Batch], keep: int) -> list[_Batch]:
    """The newest ``keep`` dropped tuples; those that passed go with the dropped of their batch."""
    surplus, found = _n_dropped(window) - keep, []
    for rows, n_dropped, n_passed in window:
        gone = min(max(surplus, 0), len(rows))
        surplus -= gone
        found.append((rows[gone:], n_dropped, n_passed))
    while found and surplus >= 0 and not found[0][0] and found[0][1]:
        del found[0]
    return found


def _mean(window: Sequence[_Batch], order: Sequence[int], us: Sequence[float]) -> float:
    spent, n = 0.0, 0
    for rows, n_dropped, n_passed in window:
        passed = n_passed * len(rows) // n_dropped if n_dropped else n_passed
        spent += passed * sum(us)
        n += passed + len(rows)
        for row in rows:
            for place in order:
                spent += us[place]
                if row[place]:
                    break
    return spent / n if n else 0.0
