"""Windows that shed where they are kept: exact without a limit, bounded with one. Card B1, B6"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast, get_args

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.model.conditions import ContinuousQuery
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.shards.keyed import shards_of
from backend.operators.network.shedding.options import (
    ShedAlgorithm,
    ShedOptions,
    StateForm,
)
from backend.operators.network.temporal.shed_tuning import ShedTuning
from backend.systems.cals.planning import planned
from backend.systems.contract import Refusal
from backend.systems.cores import CoreKind
from backend.systems.stream.compiling import compile_queries, operator_tree
from tests.oracles.cql_semantics import Elements, answer, relation_at
from tests.unit.cals.cases import ALGORITHMS
from tests.unit.network.query_runs import Answer, run_plan
from tests.unit.network.query_texts import SECOND
from tests.unit.network.test_temporal import LAST, SCHEMAS, elements

STREAMS = ("G", "C", "D", "K")


class Shedding:
    """The part of a core that plans."""

    name = "cals"

    def planned(self, tree: OperatorTree) -> OperatorTree | Refusal:
        return planned(tree)


def parsed(*texts: str) -> list[ContinuousQuery]:
    """Queries q0, q1…, each of which may read those before it, and q, which may read all."""
    queries: dict[str, ContinuousQuery] = {}
    for name, text in zip([*(f"q{n}" for n in range(len(texts) - 1)), "q"], texts, strict=True):
        queries[name] = parse_query(name, text, SCHEMAS, queries=queries)
    return list(queries.values())


def compiled(*texts: str) -> NetworkPlan:
    queries = parsed(*texts)
    kinds = cast(Sequence[CoreKind], [Shedding()])
    since = {query.name: 0 for query in queries}
    return compile_queries(queries, since=since, tick_us=SECOND, kinds=kinds)


def played(
    text: str,
    stream: str,
    rows: Elements,
    beats: Sequence[int],
    options: Sequence[ShedOptions] = (),
    n_shards: int = 1,
    reads: Sequence[str] = (),
) -> Answer:
    """The answer. options: in each batch. reads: queries
    q0, q1… that it may read."""
    plan = compiled(*reads, text)
    sheds = [one.id for one, _ in plan.working(ShedOp)]
    assert sheds, text
    tunings: Any = [dict.fromkeys(sheds, ShedTuning(one)) for one in options]
    inputs = {name: rows if name == stream else [] for name in SCHEMAS}
    return +run_plan(plan, inputs, SCHEMAS, beats, n_shards, tunings=tunings)["q"]


@st.composite
def texts(draw: Any) -> tuple[str, str]:
    """A stream, and a query whose window may shed."""
    stream = draw(st.sampled_from(STREAMS))
    n, slide = draw(st.integers(0, 5)), draw(st.integers(1, 4))
    window = draw(
        st.sampled_from(
            [
                f"[Range {n}]",
                f"[Rows {n + 1}]",
                f"[Range {n} Seconds Slide {slide} Seconds]",
                "[Now]",
            ]
        )
    )
    on = draw(st.sampled_from(["a", "c", "a, c"]))
    length = f"{draw(st.integers(0, 6))}{' Days' if stream == 'D' else ''}"
    parts = (
        [draw(st.sampled_from(["a > 0", "c = 'x' or a is null"]))] if draw(st.booleans()) else []
    )
    parts += [f"Valid(x) >= {length}"] if draw(st.booleans()) else []
    where = f" Where {' and '.join(f'({part})' for part in parts)}" if parts else ""
    return stream, f"Select {on}, Valid(x) From {stream} ({on}) {window} As x{where}"


#: Streams of coalesced tuples, and of some of a stream's tuples.
DERIVED = (
    "Select Istream(a, c, Valid(G)) From G (a, c) [Rows 1]",
    "Select Istream(a, c, Valid(G)) From G (a, c) [Rows 3] Where c = 'x'",
    "Select Istream(a, c, Valid(G)) From G (a, c) [Range 2] Where Valid(G) >= 2",
    "Select a, c, since As valid_from, until As valid_to From G",
    "Select a, c, since As valid_from, until As valid_to From G Where a = 0",
)


@given(st.data())
def test_without_a_limit_answers_over_other_queries_are_exact(data: st.DataObject) -> None:
    """Windows of rows count the tuples of the query, whatever a condition above takes of them."""
    _, text = data.draw(texts())
    text = re.sub(r" From [GCDK] \(", " From q0 (", text).replace(" Days", "")
    inner = data.draw(st.sampled_from(DERIVED))
    rows, beats = data.draw(elements("G")), cuts(data)
    *_, query = parsed(inner, text)
    assert query.plan is not None
    refusal = planned(operator_tree(query.plan, SECOND)[0])
    event("refused" if isinstance(refusal, Refusal) else inner)
    if isinstance(refusal, Refusal):
        assert "[Rows" in text
        assert "(a > 0)" in text or "a is null" in text
        return
    n_shards = data.draw(st.sampled_from([1, 3]))
    found = played(text, "G", rows, beats, n_shards=n_shards, reads=[inner])
    assert found == answer(query.plan, {"G": rows}, LAST - 1), (inner, text)


@pytest.mark.parametrize("window", ["[Rows 2]", "[Rows 3]", "[Range 4]"])
@pytest.mark.parametrize("inner", ["", DERIVED[3], DERIVED[0]])
def test_a_shard_that_nothing_comes_to_keeps_the_ticks_of_all(inner: str, window: str) -> None:
    """Tuples of a = 0 at first, then of a = 1 alone, of which every second is valid at no instant:
    they push out what the shard of a = 0 has, at their ticks. Two more shards are silent always."""
    assert len({*shards_of(pa.array([0, 1], pa.int32()), 4).tolist()}) == 2
    rows = [((int(n > 1), "x", 2 * n, 2 * n + n % 2), n) for n in range(10)]
    text = f"Select a, Valid(x) From {'q0' if inner else 'G'} (a) {window} As x"
    reads = [inner] if inner else []
    *_, query = parsed(*reads, text)
    assert query.plan is not None
    exact = answer(query.plan, {"G": rows}, LAST - 1)
    assert {row[0] for row, _, sign in exact if sign < 0} >= {0}
    for beats in ([LAST], [2, 5, 8, LAST], [*range(1, LAST + 1)]):
        assert played(text, "G", rows, beats, n_shards=4, reads=reads) == exact, beats


def test_a_filter_stays_above_a_window_of_rows_of_another_query() -> None:
    """a = 1, 0, 0, 0: the third tuple pushes the first out, and the filter takes it. Only the
    window of the query that is read may shed."""
    text = "Select a, Valid(q0) From q0 (a) [Rows 2] Where a > 0"
    inner = "Select Istream(a, Valid(G)) From G (a) [Rows 1]"
    rows = [((int(not n), "x", 2 * n, 2 * n + 2), n) for n in range(4)]
    found = played(text, "G", rows, [4], reads=[inner])
    assert found == {((1, 0, 2), 0, 1): 1, ((1, 0, 2), 2, -1): 1}
    assert {work.window.size for _, work in compiled(inner, text).working(ShedOp)} == {1}
    *_, query = parsed("Select a, since As valid_from, until As valid_to From G", text)
    assert query.plan is not None
    refusal = planned(operator_tree(query.plan, SECOND)[0])
    assert isinstance(refusal, Refusal)
    assert "before [Rows 2], which counts them" in refusal.reason


def cuts(data: st.DataObject) -> list[int]:
    return [*sorted(data.draw(st.sets(st.integers(1, LAST - 1), max_size=3))), LAST]


@given(st.data())
def test_without_a_limit_answers_are_exact(data: st.DataObject) -> None:
    stream, text = data.draw(texts())
    rows, beats = data.draw(elements(stream)), cuts(data)
    n_shards = data.draw(st.sampled_from([1, 2]))
    found = played(text, stream, rows, beats, n_shards=n_shards)
    plan = parse_query("q", text, SCHEMAS).plan
    assert plan is not None
    assert found == answer(plan, {stream: rows}, LAST - 1), text


@given(st.data(), st.sampled_from(ALGORITHMS))
def test_under_a_limit_nothing_is_invented_and_cuts_change_nothing(
    data: st.DataObject, algorithm: ShedAlgorithm
) -> None:
    """At every tick each coalesced tuple lies inside one exact tuple of equal values."""
    stream, text = data.draw(texts())
    text = text.replace(" and (Valid(x)", " and (0 = 0 or Valid(x)").partition(" and (0 = 0")[0]
    text = text.partition(" Where (Valid")[0]
    rows, beats = data.draw(elements(stream)), cuts(data)
    limits = [data.draw(st.integers(0, 4)) for _ in beats]
    allowed = ["tuples"] if stream == "K" else get_args(StateForm)  # readings are kept as tuples
    forms = [data.draw(st.sampled_from(allowed)) for _ in beats]
    options = [
        ShedOptions(algorithm, limit, audit="exact", state_form=form)
        for limit, form in zip(limits, forms, strict=True)
    ]
    found = played(text, stream, rows, beats, options)
    every = [*range(1, LAST), LAST]
    fine = [options[bisect_left(beats, beat)] for beat in every]
    assert played(text, stream, rows, every, fine) == found
    plan = parse_query("q", text, SCHEMAS).plan
    assert plan is not None
    for tick in range(LAST):
        kept: Counter[tuple[Any, ...]] = Counter()
        for (row, tau, sign), n in found.items():
            kept[row] += n * sign * (tau <= tick)
        exact = relation_at(plan, {stream: rows}, tick)
        for row in (+kept).elements():
            assert any(
                row[:-2] == one[:-2] and one[-2] <= row[-2] and row[-1] <= one[-1] for one in exact
            ), (text, tick, row)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Select a, Valid(K) From K (a)", "no window [Range"),
        ("Select a, Valid(G) From G (a)", "no window [Range"),
        ("Select a, Valid(G) From G (a) [Partition By a Rows 2]", "no window [Range"),
        ("Select a, max(c) From G [Range 3] Group By a", "cannot be told from a sample"),
    ],
)
def test_what_cannot_shed_says_why(text: str, sentence: str) -> None:
    query = parse_query("q", text, SCHEMAS)
    assert query.plan is not None
    refusal = planned(operator_tree(query.plan, SECOND)[0])
    assert isinstance(refusal, Refusal)
    assert sentence in str(refusal)
