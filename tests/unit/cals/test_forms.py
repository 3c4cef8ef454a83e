"""Tuples as runs: what they take, and that all of them comes back. Card B7"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.rules import ShedRules, shed_rules
from backend.operators.network.shedding.temporal import EVERY_LENGTH, TemporalTuple
from backend.operators.network.shedding.words import (
    CODED_BYTES,
    END,
    FLAGS,
    GROUP,
    HEAD_MEMORY,
    LOST,
    MEMORY,
    N_FACTS,
    N_MEMORY,
    NUMBER,
    OLDEST,
    POSITION,
    RUN_BYTES,
    RUN_END,
    START,
    USED,
)
from backend.operators.network.temporal.shed_coded import plant
from backend.operators.network.temporal.shed_rows import ShedRows
from backend.operators.network.temporal.shed_state import window_extent
from tests.oracles.run_bytes import coded_group, run_bytes

_AWAY = (1 << 62) - 1
AS_RUNS = ShedOptions(memory_tuples=9, state_form="runs")
N_GROUPS = 3


def rules_of(kind: Any) -> ShedRules:
    return shed_rules(AS_RUNS, window_extent(WindowOp(kind, 100)), EVERY_LENGTH, 1)


def group_of(one: TemporalTuple) -> int:
    (value,) = one.values
    return int(str(value))


@st.composite
def placed(draw: st.DrawFn) -> list[tuple[TemporalTuple, int]]:
    """Tuples of three values, by arrival, and where each is in a window of time; distances of all
    sizes, to both sides."""
    steps = st.one_of(
        st.sampled_from([0, 1, 127, 128, -128, -129, 1 << 31, -(1 << 31) - 1, _AWAY, -_AWAY]),
        st.integers(-9, 9),
    )
    number, tuples = 0, []
    for _ in range(draw(st.integers(0, 25))):
        number += draw(st.sampled_from([1, 1, 2, 130, 1 << 33]))
        start = draw(steps)
        end = start + draw(st.sampled_from([1, 2, 2, 300, 1 << 40]))
        one = TemporalTuple(number, (draw(st.integers(0, N_GROUPS - 1)),), start, end)
        tuples.append((one, draw(steps)))
    return tuples


def filled(rows: ShedRows, tuples: list[tuple[TemporalTuple, int]], roots: Any, facts: Any) -> Any:
    """The arrays with these tuples in memory, together by group and in order there."""
    ordered = sorted(tuples, key=lambda each: (each[0].values, each[0].start, each[0].number))
    rows.make_room(len(ordered))
    shed = rows.arrays(roots)
    for row, (one, position) in enumerate(ordered):
        shed.tuples[row, [NUMBER, GROUP, START]] = one.number, group_of(one), one.start
        shed.tuples[row, [END, POSITION, FLAGS]] = one.end, position, 1
    plant(len(ordered), shed)
    facts[[N_MEMORY, USED]] = len(ordered)
    return shed


@settings(max_examples=300)
@given(placed(), st.sampled_from(["rows", "range"]), st.integers(0, 24))
def test_what_is_kept_is_what_the_slow_form_writes_and_all_comes_back(
    tuples: list[tuple[TemporalTuple, int]], kind: str, lost: int
) -> None:
    if kind == "rows":
        tuples = [(one, one.number) for one, _ in tuples]
    event("some" if tuples else "none")
    regions, rules = MemoryRegions(), rules_of(kind)
    facts, roots = np.zeros(N_FACTS, np.int64), np.zeros((N_GROUPS, 2), np.int64)
    rows = ShedRows(regions, facts, True)
    shed = filled(rows, tuples, roots, facts)
    heads = np.flatnonzero(shed.tuples[: len(tuples), FLAGS] & HEAD_MEMORY)
    shed.tuples[heads[:lost], LOST] = 7
    counted = rows.bytes_as_runs(rules, roots)
    rows.keep(rules, roots)
    at = None if kind == "rows" else {one.number: position for one, position in tuples}
    groups = [[one for one, _ in tuples if one.values == (n,)] for n in range(N_GROUPS)]
    wanted = b"".join(coded_group(group, at) for group in groups)
    assert regions.array("coded", "uint8", 0)[: facts[CODED_BYTES]].tobytes() == wanted
    assert counted == facts[RUN_BYTES] == run_bytes([one for one, _ in tuples], 1, at)
    again = ShedRows(regions, facts, True)
    again.read(kind == "rows", roots)
    back, words = again.arrays(roots).tuples, [NUMBER, GROUP, START, END, POSITION, FLAGS, LOST]
    n = len(tuples)
    assert back[:n, words].tolist() == shed.tuples[:n, words].tolist()
    assert back[heads, MEMORY + RUN_END].tolist() == shed.tuples[heads, MEMORY + RUN_END].tolist()
    assert facts[OLDEST] == (1 + back[:n, NUMBER].argmin() if n else 0)


@pytest.mark.parametrize(
    ("step", "size", "lasts", "n_bytes"),
    [
        (10, 100, 10, 1),  # contiguous readings of one length
        (10, 100, 9, 2),  # gaps
        (1000, 100, 1000, 1),
        (1000, 100, 900, 2),
    ],
)
def test_regular_readings_take_a_byte_each(step: int, size: int, lasts: int, n_bytes: int) -> None:
    tuples = [TemporalTuple(k, (1,), k * step, k * step + lasts) for k in range(size)]
    whole, fewer = run_bytes(tuples, 1), run_bytes(tuples[:-50], 1)
    assert whole - fewer == 50 * n_bytes
    assert whole < 24 * size / 4
