"""Aggregates of windows that keep a sample: exact without a limit, estimates with one. Card B8"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.sampling import SampleOp, with_intervals
from backend.operators.network.sampling.student import T95
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.temporal.shed_tuning import ShedTuning
from backend.systems.cals.planning import planned
from backend.systems.contract import Refusal
from backend.systems.cores import CoreKind
from backend.systems.stream.compiling import compile_queries, operator_tree
from tests.oracles.cals_samples import SlowSample, estimates
from tests.oracles.cql_semantics import Elements, answer
from tests.unit.network.query_runs import Answer, run_plan
from tests.unit.network.query_texts import SECOND, STREAMS
from tests.unit.network.test_shed import Shedding

LIST = "count(*) As n, count(d) As k, sum(d) As s, avg(d) As m, sum(e) As t, avg(e) As u"
CALLS = (("count", None), ("count", 0), ("sum", 0), ("avg", 0), ("sum", 1), ("avg", 1))
LAST = 14


def compiled(text: str) -> NetworkPlan:
    kinds = cast(Sequence[CoreKind], [Shedding()])
    query = parse_query("q", text, STREAMS)
    return compile_queries([query], since={"q": 0}, tick_us=SECOND, kinds=kinds)


def played(
    text: str,
    rows: Elements,
    beats: Sequence[int],
    options: Sequence[ShedOptions] = (),
    n_shards: int = 1,
) -> Answer:
    """The answer, of stream U. options: in each batch."""
    plan = compiled(text)
    (sample,) = (one.id for one, _ in plan.working(SampleOp))
    tunings: Any = [{sample: ShedTuning(one)} for one in options]
    inputs = {name: rows if name == "U" else [] for name in STREAMS}
    return +run_plan(plan, inputs, STREAMS, beats, n_shards, tunings=tunings)["q"]


def relation_of(found: Answer, tick: int) -> Counter[Any]:
    """The answer at the end of a tick."""
    relation: Counter[Any] = Counter()
    for (row, tau, sign), n in found.items():
        relation[row] += sign * n * (tau <= tick)
    assert min(relation.values(), default=0) >= 0
    return +relation


def are_alike(told: Sequence[Any], slow: Sequence[Any]) -> bool:
    """Whether values and ends are the same but for rounding, call by call."""
    for place in range(0, len(slow), 3):
        both = [*zip(told[place : place + 3], slow[place : place + 3], strict=True)]
        most = 1e-3 * max(1, *(abs(number or 0) for _, number in both))
        if any((a is None) != (b is None) or abs((a or 0) - (b or 0)) > most for a, b in both):
            return False
    return True


@st.composite
def streams(draw: Any) -> Elements:
    values = st.tuples(
        st.sampled_from([0, 1, 2, 5, -3, None]),
        st.sampled_from([0.0, 0.5, -2.25, 7.0, 1e3, None]),
        st.sampled_from(["x", "y", None]),
    )
    return sorted(
        draw(st.lists(st.tuples(values, st.integers(0, LAST - 1)), max_size=40)),
        key=lambda one: one[1],
    )


@st.composite
def windows(draw: Any) -> tuple[str, str, int, int]:
    """Its text, kind, size and slide."""
    size, slide = draw(st.integers(0, 8)), draw(st.integers(1, 4))
    kinds = [
        (f"[Range {size}]", "range", size, 1),
        (f"[Rows {3 * size + 1}]", "rows", 3 * size + 1, 1),
        (f"[Range {size} Seconds Slide {slide} Seconds]", "range", size, slide),
        ("[Now]", "range", 0, 1),
    ]
    kind: tuple[str, str, int, int] = draw(st.sampled_from(kinds))
    return kind


OPTIONS = st.builds(
    lambda m, low, prob, seed: ShedOptions(
        memory_tuples=m, low_water=low, sample_prob=prob, seed=seed
    ),
    st.sampled_from([0, 1, 2, 4, 7, 12]),
    st.sampled_from([1.0, 0.5]),
    st.sampled_from([0.0, 0.0, 1.0, 0.6]),
    st.integers(0, 3),
)
BEATS = st.lists(st.integers(1, LAST - 1), unique=True, max_size=4).map(
    lambda beats: [*sorted(beats), LAST + 12]
)


@given(streams(), windows(), st.booleans(), st.booleans(), BEATS, st.sampled_from([1, 3]))
def test_without_a_limit_answers_are_exact_and_intervals_have_no_width(
    rows: Elements, window: Any, grouped: bool, filtered: bool, beats: list[int], n_shards: int
) -> None:
    where = " Where d > 0 or d is null" if filtered else ""
    by = ("c, ", " Group By c") if grouped else ("", "")
    text = f"Select {by[0]}{LIST} From U {window[0]}{where}{by[1]}"
    found = played(text, rows, beats, (), n_shards)
    plain = parse_query("q", text, STREAMS).plan
    assert plain is not None
    kept = answer(plain, {name: rows if name == "U" else [] for name in STREAMS}, beats[-1] - 1)
    first = int(grouped)
    told = {((*row[:first], *row[first::3]), tau, sign): n for (row, tau, sign), n in found.items()}
    assert told == dict(kept)
    for row, _, _ in found:
        for place in range(first, len(row), 3):
            value, low, high = row[place : place + 3]
            assert (low, high) == ((None, None) if value is None else (float(value), float(value)))


@given(streams(), windows(), st.booleans(), st.booleans(), BEATS, st.data())
def test_with_limits_turned_estimates_are_those_of_the_slow_form(
    rows: Elements,
    window: Any,
    grouped: bool,
    filtered: bool,
    beats: list[int],
    data: st.DataObject,
) -> None:
    """Tick by tick, whatever is turned between batches; and cut into as many batches as ticks."""
    options = [data.draw(OPTIONS) for _ in beats]
    where = " Where d > 0 or d is null" if filtered else ""
    by = ("c, ", " Group By c") if grouped else ("", "")
    text = f"Select {by[0]}{LIST} From U {window[0]}{where}{by[1]}"
    found = played(text, rows, beats, options)
    slow = SlowSample(*window[1:])
    slow.reads = lambda row: not filtered or row[0] is None or row[0] > 0
    begin, kept = 0, dict[int, Any]()
    for beat, one in zip(beats, options, strict=True):
        now = [(row, tick) for row, tick in rows if begin <= tick < beat]
        first = sum(tick < begin for _, tick in rows)
        kept |= slow.batch(now, first, range(begin, beat), one)
        begin = beat
    for tick, sample in kept.items():
        expected = estimates(sample, [2] if grouped else [], CALLS)
        relation = relation_of(found, tick)
        assert all(n == 1 for n in relation.values())
        own = {row[: int(grouped)]: list(row[int(grouped) :]) for row in relation}
        assert own.keys() == expected.keys(), tick
        for group, numbers in expected.items():
            assert are_alike(own[group], numbers), (tick, group, own[group], numbers)
    event(f"shed: {slow.dropped > 0}")
    every = [
        one for beat, last, one in zip([0, *beats], beats, options, strict=False)
        for _ in range(beat, last)
    ]  # fmt: skip
    assert played(text, rows, range(1, beats[-1] + 1), every) == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "Select c, max(d) From U [Range 5] Group By c",
            "line 1, column 11: max(d) cannot be told from a sample of a window; allowed: groups, "
            "and count, sum and avg of all tuples of a window, which have an interval each",
        ),
        (
            "Select count(Distinct d) From U [Rows 5]",
            "line 1, column 8: count(Distinct d) cannot be told from a sample of a window; allowed",
        ),
        (
            "Select sum(d) / count(*) As r From U [Range 5]",
            "line 1, column 15: what is computed from aggregates has no interval of its own; allow",
        ),
        ("Select c From U [Range 5] Group By c", "it asks for groups alone, and a sample may lack"),
        ("Select Distinct c From U [Range 5]", "it coalesces no window and aggregates none by its"),
        ("Select Istream(count(*)) From U [Range 5]", "it coalesces no window and aggregates none"),
        ("Select c, d From U [Range 5]", "it coalesces no window and aggregates none by itself"),
        ("Select count(*) From U", "it aggregates no window [Range …] or [Rows n], so nothing can"),
        (
            "Select count(*) From U [Partition By c Rows 2]",
            "it aggregates no window [Range …] or [Rows n], so nothing can be shed",
        ),
        (
            "Select count(*) From U [Range 5], T [Range 5] Where U.d = T.d",
            "it aggregates no window [Range …] or [Rows n], so nothing can be shed",
        ),
    ],
)
def test_what_a_sample_does_not_tell_is_refused_with_its_place(text: str, reason: str) -> None:
    plan = parse_query("q", text, STREAMS).plan
    assert plan is not None
    refused = planned(operator_tree(plan, SECOND)[0])
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith(reason)


def test_columns_of_ends_stand_behind_their_values_and_conditions_on_groups_hold() -> None:
    text = (
        "Select sum(e) As total, c, count(*) As n_low, count(*) As n From U [Range 9] "
        "Group By c Having count(*) >= 2"
    )
    rows: Elements = [((1, 2.5, "x"), 0), ((1, 4.0, "x"), 1), ((1, 1.0, "y"), 1)]
    plan = compiled(text)
    top = plan.answers["q"].operator
    names = [field.name for field in plan.operator(top).fields]
    ends = ["total_low", "total_high", "c", "n_low", "n_low_low", "n_low_high", "n"]
    assert names == ["total", *ends, "n_low_2", "n_high"]
    assert with_intervals(plan, top) == ["total", "n_low"]
    assert with_intervals(plan, plan.operators[0].id) == []
    assert played(text, rows, [5]) == {((6.5, 6.5, 6.5, "x", 2, 2.0, 2.0, 2, 2.0, 2.0), 1, 1): 1}


def test_student_quantiles_are_those_of_the_table() -> None:
    table = {1: 12.7062, 2: 4.3027, 5: 2.5706, 6: 2.4469, 10: 2.2281, 30: 2.0423, 120: 1.9799}
    assert {n: round(float(T95[n]), 3) for n in table} == {
        n: round(one, 3) for n, one in table.items()
    }
    assert T95[-1] == pytest.approx(1.95996, abs=1e-5)
