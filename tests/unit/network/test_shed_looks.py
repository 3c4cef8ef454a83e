"""When a window that sheds is looked at: soon where it matters, else for little of all work."""

from __future__ import annotations

from itertools import pairwise

import pytest

from backend.operators.network.shedding.curve import RunSample
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.temporal import shed_looks
from backend.operators.network.temporal.shed_looks import (
    ARRIVAL_WORK,
    BATCH_WORK,
    LEAST_BATCHES,
    LOOKED_SHARE,
)
from backend.operators.network.temporal.shed_tuning import ShedTuning
from tests.oracles.cql_semantics import Elements
from tests.unit.network.test_shed_kernel import Recorded, played

N_BATCHES = 150


@pytest.mark.parametrize(("n_rows", "batch"), [(20, 5), (300, 5), (300, 40), (300, 200)])
def test_looks_wait_for_work_unless_something_happens(
    n_rows: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the window is kept; another algorithm is in force from the middle on."""
    work = list[int]()
    counted = shed_looks.looked_work

    def spied(sample: RunSample, is_raced: bool) -> int:
        work.append(counted(sample, is_raced))
        return work[-1]

    monkeypatch.setattr(shed_looks, "looked_work", spied)
    n, turned = N_BATCHES * batch, N_BATCHES // 2
    rows: Elements = [((k // 4 % 5, "x", k, k + 1), k) for k in range(n)]
    tunings = [
        ShedTuning(ShedOptions("cals" if b < turned else "oldest", n_rows // 2))
        for b in range(N_BATCHES)
    ]
    Recorded.profiles, Recorded.receipts, Recorded.samples = [], [], []
    text = f"Select a, Valid(x) From G (a) [Rows {n_rows}] As x"
    played(Recorded, text, rows, range(batch, n + 1, batch), tunings)
    curves = [each.curve for each in Recorded.profiles]
    looked = [b for b, curve in enumerate(curves) if curve is not None and curve.is_new]
    assert len(looked) == len(work)
    full = -(-n_rows // batch)
    assert {0, turned} <= set(looked)
    assert sum(b <= full for b in looked) <= 3 + 12, "as it fills, each time by a quarter"
    paced = 0
    for n_th, (before, after) in enumerate(pairwise(looked)):
        if before >= full and after != turned:
            gone = after - before
            assert gone >= LEAST_BATCHES
            done = gone * (ARRIVAL_WORK * batch + BATCH_WORK)
            assert work[n_th] <= LOOKED_SHARE * done
            assert gone * batch >= n_rows
            paced += 1
    assert paced
