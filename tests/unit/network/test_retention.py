"""Joins whose windows keep some key groups: the join of what is kept, whatever cuts and shards."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.model.schema import Schema
from backend.operators.network.core.blocks import FOREVER, Block, Column64
from backend.operators.network.core.key_groups import N_GROUPS, KeyGroups, grouped
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import JoinTrees
from backend.operators.network.joins.sampled_results import SampledResults
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.retention import RetainedKey, retained_key
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.stores.key_counts import KeyCounts
from backend.operators.network.stores.retaining import RetainTuning
from backend.systems.amri.core import AMRI
from backend.systems.cores import CoreKind
from backend.systems.stream.compiling import compile_queries
from tests.oracles.cql_semantics import Elements
from tests.oracles.network_windows import bag_at
from tests.oracles.retained_joins import Came, Keeps, retained_join_at
from tests.unit.network.query_runs import Answer, run_plan

SCHEMAS = {name: Schema.parse("k bigint, s string, v bigint") for name in ("A", "B", "C")}
LAST = 12
KEYS = (None, 0, 1, 2, 3, 5, 8, 13)
TWO = "Select A.k, A.s, A.v, B.k, B.s, B.v From A {a}, B {b} Where A.{on} = B.{on}"
THREE = (
    "Select A.k, A.s, A.v, B.k, B.s, B.v, C.k, C.s, C.v From A {a}, B {b}, C {c} "
    "Where A.{on} = B.{on} and B.v = C.v"
)


def compiled(
    *texts: str,
    kinds: Sequence[CoreKind] = (),
    sharing: bool = True,
    joins: JoinTrees = "mjoin",
    schemas: Mapping[str, Schema] = SCHEMAS,
) -> NetworkPlan:
    queries = [parse_query(f"q{n}", text, schemas) for n, text in enumerate(texts)]
    since = {query.name: 0 for query in queries}
    return compile_queries(
        queries, since=since, tick_us=1_000_000, kinds=kinds, sharing=sharing, joins=joins
    )


def key_of(plan: NetworkPlan) -> RetainedKey:
    ((joined, _),) = plan.working(JoinOp)
    key = retained_key(plan, joined.id)
    assert key is not None
    return key


def group_of(value: Any, as_float: bool = False) -> int:
    """The group of a key, which is in no shard."""
    strings = Strings(MemoryRegions())
    is_text = isinstance(value, str)
    held = strings.code(value) if is_text else (value or 0)
    column = Column64(np.array([held]), np.array([value is not None]))
    return int(KeyGroups(strings if is_text else None, as_float).of(column)[0])


def by_groups(dropped: Callable[[int], int], as_float: bool = False) -> Keeps:
    """dropped: how many groups at a tick."""
    return lambda came, tick: group_of(came.key, as_float) >= dropped(tick)


def tunings(key: RetainedKey, dropped: Sequence[int]) -> list[Mapping[str, Any]]:
    return [{k.window: RetainTuning(k.place, k.as_float, n) for k in key.windows} for n in dropped]


def places_of(key: RetainedKey) -> dict[str, int]:
    return {keyed.window: keyed.place for keyed in key.windows}


def bags(answer: Answer) -> list[Counter[Any]]:
    """The answer at each tick."""
    elements = [(row, tau, sign * n) for (row, tau, sign), n in answer.items()]
    return [bag_at(sorted(elements, key=lambda one: (one[1], -one[2])), t) for t in range(LAST)]


@st.composite
def histories(draw: Any) -> Elements:
    rows = st.tuples(st.sampled_from(KEYS), st.sampled_from("xyz"), st.integers(0, 2))
    times = st.lists(st.integers(0, LAST - 1), max_size=14)
    return [(draw(rows), tau) for tau in sorted(draw(times))]


WINDOWS = st.sampled_from(
    [
        *("[Range 2 Seconds]", "[Range 9 Seconds]", "[Rows 3]", "[Now]"),
        *("[Range 4 Seconds Slide 3 Seconds]", "[Rows Unbounded]", "[Partition By k Rows 1]"),
    ]
)


@given(st.data())
def test_the_answer_is_the_join_of_what_is_kept(data: st.DataObject) -> None:
    """At every tick, however the batches are cut, by a plan or an eddy, with shared stores or not;
    groups are dropped and kept again meanwhile."""
    kept = st.sampled_from(["[Range 3 Seconds]", "[Rows 4]"])
    text = data.draw(st.sampled_from([TWO, THREE])).format(
        a=data.draw(kept), b=data.draw(WINDOWS), c=data.draw(WINDOWS),
        on=data.draw(st.sampled_from("ks")),
    )  # fmt: skip
    kinds = data.draw(st.sampled_from([(), (AMRI,)]))
    plan = compiled(text, kinds=kinds, sharing=data.draw(st.booleans()))
    inputs = {name: data.draw(histories()) for name in SCHEMAS}
    turns = sorted(data.draw(st.sets(st.integers(1, LAST - 1), max_size=3)))
    levels = st.sampled_from([0, 1, 200, 512, 700, N_GROUPS - 1])
    dropped = [data.draw(levels) for _ in [*turns, LAST]]
    key = key_of(plan)
    found = run_plan(plan, inputs, SCHEMAS, [*turns, LAST], tunings=tunings(key, dropped))["q0"]
    every = list(range(1, LAST + 1))
    by_tick = [dropped[bisect_right(turns, tick - 1)] for tick in every]
    assert run_plan(plan, inputs, SCHEMAS, every, tunings=tunings(key, by_tick))["q0"] == found
    event(f"{len(key.windows)} windows, {'falls' if dropped != sorted(dropped) else 'rises'}")
    for tick, bag in enumerate(bags(found)):
        assert bag == retained_join_at(
            plan, inputs, places_of(key), by_groups(lambda t: by_tick[t]), tick
        ), (text, tick)


RULED = st.tuples(
    st.sampled_from([0, 0, 512, 900]),
    st.booleans(),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from([0, 1, 3, 5, 8, FOREVER]), max_size=5),
)


def ruled(key: RetainedKey, rules: Sequence[Any]) -> list[Mapping[str, Any]]:
    """rules: groups dropped, whether these are of numbers, and the first tuples kept, by key."""
    tuned = list[Mapping[str, Any]]()
    for n, by_number, first in rules:
        cuts = np.zeros(N_GROUPS, np.int64)
        for value, cut in first.items():
            cuts[group_of(value)] = cut
        own = RetainTuning(0, False, n, by_number, cuts.tobytes(), True)
        tuned.append({k.window: replace(own, place=k.place) for k in key.windows})
    return tuned


@given(st.data())
def test_tuples_go_by_number_and_by_age_of_their_key(data: st.DataObject) -> None:
    """At every tick, however the batches are cut, by a plan or an eddy; it is a subset."""
    kept = st.sampled_from(["[Range 3 Seconds]", "[Rows 4]", "[Range 5 Seconds Slide 2 Seconds]"])
    text = data.draw(st.sampled_from([TWO, THREE])).format(
        a=data.draw(kept), b=data.draw(kept), c=data.draw(WINDOWS), on="k"
    )
    plan = compiled(text, kinds=data.draw(st.sampled_from([(), (AMRI,)])))
    inputs = {name: data.draw(histories()) for name in SCHEMAS}
    turns = sorted(data.draw(st.sets(st.integers(1, LAST - 1), max_size=3)))
    rules = [data.draw(RULED) for _ in [*turns, LAST]]
    key, every = key_of(plan), list(range(1, LAST + 1))
    own = run_plan(plan, inputs, SCHEMAS, [*turns, LAST], tunings=ruled(key, rules))["q0"]
    by_tick = [rules[bisect_right(turns, tick - 1)] for tick in every]
    assert run_plan(plan, inputs, SCHEMAS, every, tunings=ruled(key, by_tick))["q0"] == own
    works = {own.window: plan.operator(own.window).doing(WindowOp) for own in key.windows}

    def keeps(came: Came, tick: int) -> bool:
        n, by_number, first = by_tick[tick]
        seed, group = crc32(came.window.encode()), group_of(came.key)
        drawn = int(grouped(seed, np.array([came.number]))[0]) if by_number else group
        cut = max((c for value, c in first.items() if group_of(value) == group), default=0)
        mark = came.number if works[came.window].kind == "rows" else came.tau
        return drawn >= n and mark >= cut

    whole = bags(run_plan(plan, inputs, SCHEMAS, [LAST])["q0"])
    for tick, bag in enumerate(bags(own)):
        assert bag == retained_join_at(plan, inputs, places_of(key), keeps, tick), (text, tick)
        assert bag <= whole[tick]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=40), st.data())
def test_whole_windows_are_counted_by_group(arrivals: list[Any], data: st.DataObject) -> None:
    """As a span and what is left of the one before, however arrivals are cut."""
    span = data.draw(st.integers(1, 6))
    own = KeyCounts(MemoryRegions(), span)
    marks = np.cumsum([step for step, _ in arrivals]).astype(int)
    groups, last = np.array([group for _, group in arrivals], int), int(marks.max(initial=0))
    ends = sorted({*data.draw(st.lists(st.integers(0, len(arrivals)), max_size=3)), len(arrivals)})
    for begin, end in pairwise([0, *ends]):
        own.add(groups[begin:end], marks[begin:end])
    expected = Counter[int]()
    before = Counter[int]()
    for group, mark in zip(groups.tolist(), marks.tolist(), strict=True):
        expected[group] += mark // span == last // span
        before[group] += mark // span == last // span - 1
    left = span - 1 - last % span
    told = own.at(last)
    assert {g: int(told[g]) for g in range(10)} == {
        g: expected[g] + before[g] * left // span for g in range(10)
    }


@given(st.data())
def test_it_is_a_subset_and_whole_again_once_windows_are(data: st.DataObject) -> None:
    text = THREE.format(a="[Range 3 Seconds]", b="[Range 2 Seconds]", c="[Rows 3]", on="k")
    plan, inputs = compiled(text), {name: data.draw(histories()) for name in SCHEMAS}
    dropped = [data.draw(st.integers(1, N_GROUPS - 1)), 0]
    whole = bags(run_plan(plan, inputs, SCHEMAS, [5, LAST])["q0"])
    kept = bags(
        run_plan(plan, inputs, SCHEMAS, [5, LAST], tunings=tunings(key_of(plan), dropped))["q0"]
    )
    assert all(part <= every for part, every in zip(kept, whole, strict=True))
    assert kept[9:] == whole[9:]


FLOATS = {"A": Schema.parse("k bigint"), "B": Schema.parse("k double")}


def by_equal(plan: NetworkPlan) -> NetworkPlan:
    """Joins on integers and floats by their values: queries compare these pair by pair."""
    equal = JoinOp((((0, 0), (1, 0)),))
    joins = {joined.id for joined, work in plan.working(JoinOp) if not work.equal}
    return replace(
        plan,
        operators=tuple(replace(o, work=equal) if o.id in joins else o for o in plan.operators),
    )


@given(st.lists(st.sampled_from([-0.0, 0, 1, 2.0, 2.5, -3, 2**53])), st.integers(0, N_GROUPS - 1))
def test_an_integer_and_an_equal_float_have_one_fate(values: list[float], n: int) -> None:
    text = "Select A.k, B.k From A [Range 3 Seconds], B [Range 3 Seconds] Where A.k = B.k"
    plan = by_equal(compiled(text, schemas=FLOATS))
    inputs: dict[str, Elements] = {
        "A": [((int(value),), 0) for value in values],
        "B": [((float(value),), 0) for value in values],
    }
    key = key_of(plan)
    own = run_plan(plan, inputs, FLOATS, [2], tunings=tunings(key, [n]))["q0"]
    kept = retained_join_at(plan, inputs, places_of(key), by_groups(lambda _: n, as_float=True), 1)
    assert bags(own)[1] == kept
    whole = bags(run_plan(plan, inputs, FLOATS, [2])["q0"])[1]
    stays = {value for value in values if group_of(value, as_float=True) >= n}
    assert kept == Counter({row: n for row, n in whole.items() if row[0] in stays})


def results_of(rng: np.random.Generator) -> tuple[Block, int]:
    """Results that come of keys, some of which have many; and how many."""
    n_keys = int(rng.integers(300, 3000))
    counts = np.minimum(rng.geometric(0.2, n_keys), 12)
    keys = np.repeat(rng.integers(-(2**62), 2**62, n_keys), counts)
    n = len(keys)
    return Block(np.zeros(n, np.int64), np.ones(n, np.int8), (Column64(keys),)), n


@pytest.mark.parametrize("share", [0.75, 0.5, 0.1])
def test_numbers_of_results_are_unbiased_and_their_intervals_hold(share: float) -> None:
    """Over 600 sets of keys; of a sample of a tenth 102 groups are left."""
    n_missing, errors, covered = round((1 - share) * N_GROUPS), [], 0
    groups, n_sets = KeyGroups(None), 600
    for seed in range(n_sets):
        whole, n = results_of(np.random.default_rng(seed))
        kept = whole.take(groups.of(whole.columns[0]) >= n_missing)
        sampled = SampledResults(0, groups, n_missing, -1)
        sampled.count(kept)
        told = sampled.counters()
        assert told["kept_results"] == len(kept)
        error, half = told["estimated_results"] - n, 1.96 * told["results_variance"] ** 0.5
        errors.append(error / n)
        covered += abs(error) <= half
    mean, spread = np.mean(errors), np.std(errors) / n_sets**0.5
    assert abs(mean) < 3 * spread
    assert 0.92 <= covered / n_sets <= 0.98


def test_numbers_of_results_by_the_numbers_of_tuples_are_unbiased() -> None:
    """Over 400 pairs of windows, of which one keeps a half and the other a quarter."""
    errors, shares = [], {"a": 0.5, "b": 0.25}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        keys = {name: rng.geometric(0.05, 200) for name in shares}
        kept = {
            name: keys[name][
                grouped(crc32(name.encode()), 200 * seed + np.arange(200)) >= (1 - p) * N_GROUPS
            ]
            for name, p in shares.items()
        }
        n = int((keys["a"][:, None] == keys["b"]).sum())
        there = kept["a"][(kept["a"][:, None] == kept["b"]).nonzero()[0]]
        sampled = SampledResults(0, KeyGroups(None), 768, -1, 0.5 * 0.25)
        sampled.count(
            Block(np.zeros(len(there), int), np.ones(len(there), np.int8), (Column64(there),))
        )
        told = sampled.counters()
        assert told["kept_results"] == len(there)
        errors.append(told["estimated_results"] / n - 1)
    assert abs(np.mean(errors)) < 3 * np.std(errors) / 400**0.5
    assert np.std(errors) / 400**0.5 < 0.02


def test_of_all_groups_the_number_of_results_is_what_it_is() -> None:
    results, n = results_of(np.random.default_rng(1))
    sampled = SampledResults(0, KeyGroups(None), 0, -1)
    sampled.count(results)
    sampled.count(Block(results.tau, -results.sign, results.columns))
    assert sampled.counters() == {
        "kept_results": n,
        "estimated_results": n,
        "results_variance": 0,
    }


def test_groups_are_even_and_those_of_text_go_by_what_it_says() -> None:
    numbers = np.arange(200_000)
    sizes = np.bincount(KeyGroups(None).of(Column64(numbers)), minlength=N_GROUPS)
    expected = len(numbers) / N_GROUPS
    assert 0.8 * N_GROUPS < ((sizes - expected) ** 2 / expected).sum() < 1.2 * N_GROUPS
    one, other = Strings(MemoryRegions()), Strings(MemoryRegions())
    texts = [f"t{n}" for n in range(50)]
    codes = np.array([one.code(text) for text in texts])
    turned = np.array([other.code(text) for text in reversed(texts)])[::-1]
    assert (codes != turned).all()
    found = KeyGroups(one).of(Column64(codes))
    assert (found == KeyGroups(other).of(Column64(turned))).all()
    nulls = Column64(np.zeros(2, np.int64), np.array([False, True]))
    assert KeyGroups(one).of(nulls).tolist() == [0, found[0]]
