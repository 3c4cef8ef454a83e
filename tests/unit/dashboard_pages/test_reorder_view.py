"""The profile of filters decided again: it repeats the engine that had these knobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dashboard.systems.agreedy.reorder import OrderStep, read_steps, reorder
from dashboard.systems.agreedy.replay import of_steps
from storage.tables.rows import DecisionEntry
from storage.vocabulary.rank_rule import REORDERED
from tests.unit.agreedy.stream import Drops, Stream, independent_drops, query_of, settings

COSTS = {"F2": 2.0, "F3": 3.0, "F4": 1.5}
KNOBS = st.fixed_dictionaries(
    {
        "filter_algorithm": st.sampled_from(["a-greedy", "independent", "optimal", "static"]),
        "alpha": st.sampled_from([0.5, 0.8, 1.0]),
        "violation_rule": st.sampled_from(["alpha", "evidence"]),
        "window_by": st.sampled_from(["tuples", "seconds"]),
        "window_tuples": st.sampled_from([40, 90]),
        "window_s": st.sampled_from([1.5, 3.0]),
        "min_samples": st.sampled_from([1, 50]),
        "cooldown_tuples": st.sampled_from([0, 350]),
        "reject_sample_every": st.sampled_from([1, 3]),
        "profile_policy": st.sampled_from(["fixed", "boost and flush"]),
        "profile_prob": st.sampled_from([0.3, 1.0]),
    }
)
OTHER = {
    "alpha": 0.3,
    "violation_rule": "evidence",
    "filter_algorithm": "independent",
    "window_tuples": 400,
    "min_samples": 150,
    "cooldown_tuples": 900,
}


def drifting(rng: np.random.Generator) -> Drops:
    """Two filters change places, twice; the third and the fourth drop much the same."""
    parts = []
    for shares in ((0.6, 0.2, 0.4), (0.15, 0.7, 0.4), (0.5, 0.3, 0.1)):
        own = independent_drops(rng, 1000, shares)
        parts.append(np.column_stack([own, own[:, 2] ^ (rng.random(1000) < 0.1)]))
    return np.concatenate(parts)


def run(
    knobs: Mapping[str, object],
    n_native: int = 0,
    turns: Mapping[int, tuple[str, object]] | None = None,
) -> Stream:
    """A run over that; turns: batch -> knob and value."""
    stream = Stream(settings(**knobs), query_of(4, n_native), COSTS)
    drops = drifting(np.random.default_rng(5))
    for batch in range(len(drops) // 100):
        if turns and batch in turns:
            stream.turn(*turns[batch])
        stream.feed(drops[100 * batch : 100 * batch + 100])
    return stream


def recorded(stream: Stream) -> list[DecisionEntry]:
    """The checks as the store gives them back."""
    return [
        DecisionEntry(replace(one, detail=json.loads(json.dumps(one.detail))), 0.0, None)
        for one in stream.decisions()
    ]


def orders(steps: list[OrderStep]) -> list[tuple[int, ...]]:
    return [step.ghost_order for step in steps]


@given(KNOBS, st.sampled_from([0, 2]), st.booleans())
@hypothesis_settings(max_examples=25, deadline=None)
def test_under_the_recorded_knobs_the_ghost_repeats_the_record(
    knobs: dict[str, object], n_native: int, turned: bool
) -> None:
    turns = {8: ("alpha", 0.6), 14: ("window_tuples", 70), 20: ("cooldown_tuples", 150)}
    steps = reorder(read_steps(recorded(run(knobs, n_native, turns if turned else None))), {})
    assert steps
    for step, later in pairwise(steps):
        assert step.ghost_switched == step.real_switched
        assert step.ghost_us == step.real_us
        if not later.step.fresh:
            assert step.ghost_order == later.step.order


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("base", ["a-greedy", "optimal"])
def test_another_value_decides_as_an_engine_that_had_it(name: str, base: str) -> None:
    common: dict[str, object] = {"filter_algorithm": base, "window_tuples": 120, "alpha": 0.9}
    asked = {name: OTHER[name]}
    ghost = reorder(read_steps(recorded(run(common))), asked)
    real = reorder(read_steps(recorded(run({**common, **asked}))), {})
    assert orders(ghost) == orders(real)
    assert [step.ghost_us for step in ghost] == [step.real_us for step in real]


def test_the_values_of_the_test_make_a_difference() -> None:
    common: dict[str, object] = {"window_tuples": 120, "alpha": 0.9}
    steps = read_steps(recorded(run(common)))
    as_it_was = orders(reorder(steps, {}))
    assert sum(orders(reorder(steps, {name: OTHER[name]})) != as_it_was for name in OTHER) >= 4


@pytest.mark.parametrize("name", ["sweep", "local swaps"])
def test_algorithms_that_ask_less_are_told_from_a_complete_record_as_in_a_race(name: str) -> None:
    stream = run({"window_tuples": 120, "alpha": 0.9, "race": name})
    steps = reorder(read_steps(recorded(stream)), {"filter_algorithm": name})
    racer = next(one for one in stream.core.standings if one.algorithm == name)
    names = [f.name for f in stream.core.filters]
    assert [names[x] for x in steps[-1].ghost_order] == list(racer.order)
    assert sum(step.ghost_switched for step in steps) == racer.changes


def test_what_asks_only_some_filters_leaves_no_steps() -> None:
    assert not read_steps(recorded(run({"filter_algorithm": "sweep"})))
    steps = read_steps(recorded(run({}, turns={10: ("filter_algorithm", "sweep")})))
    assert {step.batch for step in steps} == set(range(10))
    back = run({}, turns={10: ("filter_algorithm", "sweep"), 20: ("filter_algorithm", "a-greedy")})
    assert [s.batch for s in read_steps(recorded(back)) if s.fresh][-1] >= 20


def test_a_preview_and_the_judgement_of_the_same_turn_agree() -> None:
    calm = read_steps(recorded(run({"window_tuples": 120, "filter_algorithm": "static"})))
    lively = read_steps(recorded(run({"window_tuples": 120})))
    would = of_steps(calm, {"filter_algorithm": "a-greedy"}).preview(100)
    did = of_steps(lively, {"filter_algorithm": "static"}).judged(100)
    assert would == did
    assert would.share is not None
    assert would.share.mean < 0
    assert would.switches is not None
    assert would.switches[0] == 0 < would.switches[1]
    assert would.words.startswith("cost −")


def test_a_turn_is_judged_from_where_it_was_made() -> None:
    turned = read_steps(recorded(run({"window_tuples": 120}, turns={12: ("alpha", 0.2)})))
    kept = read_steps(recorded(run({"window_tuples": 120})))
    ghost = reorder(turned, {"alpha": 1.0}, since=12)
    assert [step.step.batch for step in ghost] == list(range(12, 30))
    assert orders(ghost) == orders(reorder(kept, {}, since=12))
    assert orders(ghost) != orders(reorder(turned, {}, since=12))


def test_every_knob_of_the_rule_is_one_of_the_engine() -> None:
    assert set(REORDERED) <= set(settings().values)
