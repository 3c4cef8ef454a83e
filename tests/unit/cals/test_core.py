"""The core of windows that shed: what it reads of a plan, when shedding begins and ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.core import Evaluations
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.shedding.curve import AccuracyCurve, CurvePoint
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.race import Raced
from backend.operators.network.shedding.receipts import ChargeSums, ShedReceipt
from backend.operators.network.shedding.temporal import RunSpan, TemporalTuple, ValidCondition
from backend.operators.network.temporal.shed_groups import ShedGroup
from backend.operators.network.temporal.shed_tuning import ShedProfile
from backend.systems.cals.lengths import answered_lengths
from backend.systems.cals.published import shed_matrices, window_samples
from backend.systems.cals.window import AdaptedWindow
from storage.vocabulary.cals import CALS
from tests.unit.network.test_shed import compiled, played
from tests.unit.network.test_temporal import DAY


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("Valid(G) >= 3", ValidCondition(3)),
        ("Valid(G) > 3 and Valid(G) < 9", ValidCondition(4, 8)),
        ("7 >= Valid(G)", ValidCondition(0, 7)),
        ("Valid(G) between 2 and 5", ValidCondition(2, 5)),
        ("Valid(G) = 4", ValidCondition(4, 4)),
        ("not Valid(G) < 3", ValidCondition(3)),
        ("Valid(G) <> 3", ValidCondition(0, None, ((3, 3),))),
        ("Valid(G) not between 2 and 5", ValidCondition(0, None, ((2, 5),))),
        ("not (Valid(G) < 3 or Valid(G) > 9) and Valid(G) <> 9", ValidCondition(3, 8)),
        ("Valid(G) = 3 or Valid(G) >= 6 or Valid(G) = 4", ValidCondition(3, None, ((5, 5),))),
        ("Valid(G) < 3 and Valid(G) > 5", ValidCondition(1, 0)),
        ("Begin(Valid(G)) > 3", ValidCondition()),
        ("Begin(Valid(G)) > 3 or Valid(G) > 2", ValidCondition()),
        ("Begin(Valid(G)) > 3 and Valid(G) > 2", ValidCondition(3)),
        ("Cast(Valid(D) As Interval Minute) >= 3", ValidCondition(1)),
        ("Cast(Valid(D) As Interval Week) between 1 and 2", ValidCondition(7, 20)),
        ("2.5 <= Cast(Valid(D) As Interval Week)", ValidCondition(21)),
        ("Cast(Valid(D) As Interval Week) <> 1", ValidCondition(0, None, ((7, 13),))),
        ("Cast(Valid(D) As Interval Week) in (1, 3)", ValidCondition(7, 27, ((14, 20),))),
        ("Cast(Valid(D) As Interval Week) = 1.5", ValidCondition(1, 0)),
    ],
)
def test_the_lengths_of_the_answer_are_read_from_the_plan(
    condition: str, expected: ValidCondition
) -> None:
    stream = "D" if "(D)" in condition else "G"
    plan = compiled(f"Select a, Valid({stream}) From {stream} (a) [Range 5] Where {condition}")
    ((shed, _),) = plan.working(ShedOp)
    assert answered_lengths(plan, shed.id) == expected


@given(st.data())
def test_lengths_hold_as_the_condition_does(data: st.DataObject) -> None:
    """Of a single tuple of each length the answer has those for which it is read to hold."""
    leaves = st.builds(
        "Cast(Valid(D) As Interval {}) {} {}".format,
        st.sampled_from(["Day", "Week", "Hour"]),
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from(["0", "1", "2", "1.5", "48", "71"]),
    )
    trees = st.recursive(
        leaves,
        lambda below: st.one_of(
            st.builds("({} and {})".format, below, below),
            st.builds("({} or {})".format, below, below),
            st.builds("not ({})".format, below),
        ),
        max_leaves=4,
    )
    text = f"Select a, Valid(D) From D (a) [Range 50] Where {data.draw(trees)}"
    plan = compiled(text)
    ((shed, _),) = plan.working(ShedOp)
    lengths = answered_lengths(plan, shed.id)
    length = data.draw(st.integers(1, 20))
    rows = [((1, "x", DAY, DAY + timedelta(days=length)), 0)]
    assert bool(played(text, "D", rows, [1])) == lengths.holds(length), text


def test_shedding_begins_with_a_drop_and_ends_when_the_window_is_whole() -> None:
    window, evaluations = AdaptedWindow("w", turned=ShedOptions(memory_tuples=5)), Evaluations()
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
    again.restore({"shed_total": 2, "sheddings_total": 1}, {})
    assert (again.n_shed, again.is_shedding) == (2, True)
    assert again.observe(4, profiles[1], evaluations, 1) == []
    (ends,) = again.observe(5, profiles[3], evaluations, 1)
    assert ends.explanation == "answers are exact again"
    again.restore({}, {})
    assert (again.n_shed, again.is_shedding) == (0, False)


def test_a_window_without_a_limit_says_that_it_still_lacks_tuples() -> None:
    window = AdaptedWindow("w", turned=ShedOptions(memory_tuples=5))
    window.observe(0, ShedProfile(n_resident=5, n_dropped=2, is_whole=False), Evaluations(), 1)
    assert window.inexact == "w keeps 5 tuples and sheds the others"
    window.turned = ShedOptions()
    assert window.inexact == "w lacks tuples that were shed before it had no limit"
    window.profile = replace(window.profile, whole_from=1200)
    told = "w lacks tuples that were shed before it had no limit; answers are whole again "
    assert window.inexact == told + "from tick 1,200 on"
    assert published(window)["whole_from_tick"] == 1200
    window.by_rows = True
    assert window.inexact == told + "once 1,200 tuples have come"
    assert published(window)["whole_from_tuples"] == 1200


def published(window: AdaptedWindow) -> dict[str, float | None]:
    return {sample.property: sample.value for sample in window_samples("n", window)}


def test_a_pool_that_is_full_of_its_audit_is_said_to_be() -> None:
    window = AdaptedWindow("w")
    window.pool.row_bytes, window.pool.beside = 32, 16
    window.pool.grant(2)
    told = ShedProfile(n_arrived=40, n_resident=9, n_dropped=31, audit_bytes=8000, is_whole=False)
    window.observe(0, told, Evaluations(), 1)
    assert window.inexact == (
        "w keeps 1 tuple, as starts of shed ones take all of its memory; "
        "audit = sampled with rho_basis = memory keeps fewer"
    )
    window.pool.grant(4)
    assert window.inexact == "w keeps 406 tuples and sheds the others"


def test_what_was_shed_is_published_with_its_value_and_unit() -> None:
    dropped = TemporalTuple(7, ("80",), 4, 6)
    before, after = RunSpan(("80",), 0, 6), (RunSpan(("80",), 0, 4),)
    receipt = ShedReceipt(dropped, before, after, 0, 1 / 3, ChargeSums(1), 0.1, "limit")
    groups = (ShedGroup(("80", "x"), 3, 0.2, ((0, 6, 0, 4), (8, 9, None, None)), 5),)
    window = AdaptedWindow("w", time_unit="us")
    assert shed_matrices("n", window) == []
    points = CurvePoint(0, 0, 0, (4,)), CurvePoint(8, 0.5, 0.6, (0.2,)), CurvePoint(9, 1, None)
    raced = (Raced("reach", 0.8, 0.03, 0.2, 0.04, 10), Raced("cals", 0.6, 0.05, 0.0, 0.0, 10))
    curve = AccuracyCurve(9, 9, points, (("80", "x"),))
    window.profile = ShedProfile(receipts=(receipt,), groups=groups, curve=curve, race=raced)
    window.pool.row_bytes, window.pool.n_shards = 24, 2
    told = shed_matrices("n", window)
    receipts, lacking, runs, memory, race = told
    assert [matrix.name for matrix in told] == [f"{kind} of n" for kind in CALS.matrices]
    assert {matrix.unit for matrix in told} == {"us"}
    assert receipts.row_stats == {"reason": ["limit"], "value": ["80"]}
    assert receipts.values == [[4, 6, 0, 6, 4, 1, 0, 1 / 3, 0.1]]
    assert (lacking.rows, lacking.values) == (("80, x",), [[3, 0.2, 5]])
    assert runs.values == [[0, 6, 0, 4], [8, 9, None, None]]
    assert runs.row_stats == {"value": ["80, x", "80, x"]}
    assert memory.values == [[0, 0, 0, 0, 0], [8, 4, 192, 0.5, 0.6], [9, 4.5, 216, 1, None]]
    going, looked, shards = [[["80, x", 4]], [], []], [9, 9, 9], [2, 2, 2]
    assert memory.row_stats == {"going": going, "looked": looked, "shards": shards}
    assert (race.rows, race.values[0]) == (("reach", "cals"), [0.8, 0.03, 0.2, 0.04])
    assert race.row_stats == {"in_force": [False, True], "n": [10, 10]}
    window.profile = replace(window.profile, curve=curve._replace(is_new=False))
    assert len(shed_matrices("n", window)) == 3


def test_a_window_that_is_whole_has_shed_no_share_of_it() -> None:
    def shares(profile: ShedProfile) -> list[float | None]:
        named = published(AdaptedWindow("w", profile=profile))
        return [named["memory_ratio"], named["shed_share"]]

    assert shares(ShedProfile()) == [1, 0]
    assert shares(ShedProfile(n_resident=3, n_window=4, is_whole=False)) == [0.75, 0.25]
    assert shares(ShedProfile(n_resident=3, is_whole=False)) == [None, None]
