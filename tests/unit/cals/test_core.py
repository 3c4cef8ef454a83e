"""The core of windows that shed: what it reads of a plan, when shedding begins and ends."""

from __future__ import annotations

import pytest

from backend.adaptive.core import Evaluations
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.receipts import ChargeSums, ShedReceipt
from backend.operators.network.shedding.temporal import RunSpan, TemporalTuple, ValidCondition
from backend.operators.network.temporal.shed_groups import ShedGroup
from backend.operators.network.temporal.shed_tuning import ShedProfile
from backend.systems.cals.lengths import answered_lengths
from backend.systems.cals.published import shed_matrices, window_samples
from backend.systems.cals.window import AdaptedWindow
from storage.vocabulary.cals import CALS
from tests.unit.network.test_shed import compiled


@pytest.mark.parametrize(
    ("condition", "least", "most"),
    [
        ("Valid(G) >= 3", 3, None),
        ("Valid(G) > 3 and Valid(G) < 9", 4, 8),
        ("7 >= Valid(G)", 0, 7),
        ("Valid(G) between 2 and 5", 2, 5),
        ("Valid(G) = 4", 4, 4),
        ("not Valid(G) < 3", 3, None),
        ("Begin(Valid(G)) > 3", 0, None),
    ],
)
def test_the_lengths_of_the_answer_are_read_from_the_plan(
    condition: str, least: int, most: int | None
) -> None:
    plan = compiled(f"Select a, Valid(G) From G (a) [Range 5] Where {condition}")
    ((shed, _),) = plan.working(ShedOp)
    expected = ValidCondition() if "not" in condition else ValidCondition(least, most)
    assert answered_lengths(plan, shed.id) == expected


def test_shedding_begins_with_a_drop_and_ends_when_the_window_is_whole() -> None:
    window, evaluations = AdaptedWindow("w", options=ShedOptions(memory_tuples=5)), Evaluations()
    profiles = [
        ShedProfile(n_arrived=3, n_resident=3),
        ShedProfile(n_arrived=4, n_resident=5, n_dropped=2, is_whole=False),
        ShedProfile(n_resident=4, is_whole=False),
        ShedProfile(n_resident=2),
    ]
    told = [window.observe(n, profile, evaluations, 1) for n, profile in enumerate(profiles)]
    assert [len(decisions) for decisions in told] == [0, 1, 0, 1]
    begins, ends = told[1][0], told[3][0]
    assert (begins.lhs, begins.relation, begins.rhs, begins.verdict) == (7, ">", 5, "acted")
    assert (ends.lhs, ends.relation, ends.rhs) == (2, "<=", 5)
    assert window.n_shed == 2
    assert not window.inexact
    again = AdaptedWindow("w")
    again.restore(window.state())
    assert (again.n_shed, again.is_shedding) == (2, False)


def test_a_window_without_a_limit_says_that_it_still_lacks_tuples() -> None:
    window = AdaptedWindow("w", options=ShedOptions(memory_tuples=5))
    window.observe(0, ShedProfile(n_resident=5, n_dropped=2, is_whole=False), Evaluations(), 1)
    assert window.inexact == "w keeps 5 tuples and sheds the others"
    window.options = ShedOptions()
    assert window.inexact == "w lacks tuples that were shed before it had no limit"


def test_what_was_shed_is_published_with_its_value_and_unit() -> None:
    dropped = TemporalTuple(7, ("80",), 4, 6)
    before, after = RunSpan(("80",), 0, 6), (RunSpan(("80",), 0, 4),)
    receipt = ShedReceipt(dropped, before, after, 0, 1 / 3, ChargeSums(1), 0.1, "limit")
    groups = (ShedGroup(("80", "x"), 3, 0.2, ((0, 6, 0, 4), (8, 9, None, None)), 5),)
    window = AdaptedWindow("w", time_unit="us")
    assert shed_matrices("n", window) == []
    window.profile = ShedProfile(receipts=(receipt,), groups=groups)
    receipts, lacking, runs = shed_matrices("n", window)
    assert [matrix.name for matrix in (receipts, lacking, runs)] == [
        f"{kind} of n" for kind in CALS.matrices
    ]
    assert {matrix.unit for matrix in (receipts, lacking, runs)} == {"us"}
    assert receipts.row_stats == {"reason": ["limit"], "value": ["80"]}
    assert receipts.values == [[4, 6, 0, 6, 4, 1, 0, 1 / 3, 0.1]]
    assert (lacking.rows, lacking.values) == (("80, x",), [[3, 0.2, 5]])
    assert runs.values == [[0, 6, 0, 4], [8, 9, None, None]]
    assert runs.row_stats == {"value": ["80, x", "80, x"]}


def test_a_window_that_is_whole_has_shed_no_share_of_it() -> None:
    def shares(profile: ShedProfile) -> list[float | None]:
        window = AdaptedWindow("w", profile=profile)
        named = {sample.property: sample.value for sample in window_samples("n", window)}
        return [named["memory_ratio"], named["shed_share"]]

    assert shares(ShedProfile()) == [1, 0]
    assert shares(ShedProfile(n_resident=3, n_window=4, is_whole=False)) == [0.75, 0.25]
    assert shares(ShedProfile(n_resident=3, is_whole=False)) == [None, None]
