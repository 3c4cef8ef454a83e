"""The autopilot of access methods: what it samples, what plans cost, and streams that drift."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backend.adaptive.planlog.steered import SteeredLook
from backend.systems.amri.mixing import AccessMethods
from backend.systems.amri.portfolio import IndexBytes, PortfolioProblem
from backend.systems.amri.pricing import PricedWindow
from backend.systems.amri.selection import SelectionSettings
from backend.systems.amri.states import StateIndex
from backend.systems.amri.steering import (
    IndexLimits,
    IndexPilot,
    IndexPlans,
    log_schema,
    method_form,
    methods_of,
    sampled_requests,
)
from bench.adapt_amri import KNOBS, asked_stream, batch_of, by_thresholds, followed, piloted
from bench.adapt_run import PILOTED
from storage.vocabulary.amri_configurations import configurations
from storage.vocabulary.amri_counts import StateCounts
from tests.oracles.amri_selection import Load, cost, vectors
from tests.unit.amri.cases import as_load, as_model, exact_loads
from tests.unit.amri.running_eddies import knobs_of

BITS = 4


def plans_of(n: int, load: Load, n_stored: int = 10, bits: int = BITS) -> IndexPlans:
    """Of a state that is asked by a load, in whose index nothing is yet."""
    asked, names = as_load(n, load), [f"a{k}" for k in range(n)]
    window = PricedWindow(
        asked, asked, as_model(load, bits), cast(Any, None), StateCounts(), (0,) * n, (),
        n_stored, (), tuple(names), IndexBytes(),
    )  # fmt: skip
    stored, limits = asked.arrivals * asked.window, IndexLimits(False, bits, 1e9, 0.0)
    now = AccessMethods((0,) * n)
    return IndexPlans(log_schema(names, ""), names, now, stored, limits, lambda: window)


@st.composite
def asked_exactly(draw: st.DrawFn) -> tuple[int, Load, np.ndarray[Any, Any]]:
    """A load all of whose requests are in a sample, and that sample."""
    n, load = draw(exact_loads())
    whole = lcm(*(f.denominator for f in load.frequencies.values()))
    counts = {word: int(f * whole) for word, f in load.frequencies.items()}
    total = sum(counts.values())
    shares = {word: Fraction(count, total) for word, count in counts.items()}
    sample = np.repeat([int(word, 2) for word in counts], [*counts.values()])
    return n, replace(load, frequencies=shares), sample.astype(np.int64)


@given(st.dictionaries(st.integers(0, 15), st.integers(0, 400), max_size=8), st.integers(1, 300))
def test_of_each_pattern_its_share_is_sampled(counts: Mapping[int, int], most: int) -> None:
    sample = sampled_requests({pattern: (n, 0, 0, 0, 0) for pattern, n in counts.items()}, most)
    total = sum(counts.values())
    assert len(sample) == min(total, most)
    for pattern, n in counts.items():
        assert abs(np.count_nonzero(sample == pattern) - n * len(sample) / max(1, total)) <= 1


@given(asked_exactly(), st.lists(st.integers(0, BITS), min_size=4, max_size=4))
def test_requests_cost_what_the_twin_says(
    of: tuple[int, Load, np.ndarray[Any, Any]], drawn: list[int]
) -> None:
    n, load, sample = of
    bits = tuple(drawn[:n])
    plans = plans_of(n, load, bits=16)
    prices = plans.prices(method_form(plans.names, AccessMethods(bits)), sample)
    assert prices.mean() * load.requests == pytest.approx(float(cost(load, bits)))


@given(asked_exactly())
def test_the_cheapest_of_all_bits_is_searched(of: tuple[int, Load, np.ndarray[Any, Any]]) -> None:
    n, load, sample = of
    plans = plans_of(n, load)
    (plan,) = plans.search(sample)
    own = float(plans.prices(plan, sample).mean())
    costs = [float(cost(load, bits)) for bits in vectors(n, BITS, at_most=True)]
    assert own * load.requests == pytest.approx(min(costs))


@given(
    asked_exactly(),
    st.lists(st.integers(0, BITS), min_size=8, max_size=8),
    st.lists(st.integers(1, 15), max_size=3),
    st.integers(0, 50),
)
def test_mixes_cost_what_serves_each_request_and_no_pattern_more_than_said(
    of: tuple[int, Load, np.ndarray[Any, Any]], drawn: list[int], modules: list[int], stored: int
) -> None:
    n, load, sample = of
    own = tuple(sorted({module & (1 << n) - 1 for module in modules} - {0}, reverse=True))
    assume(not load.windows)
    old, new = AccessMethods(tuple(drawn[:n])), AccessMethods(tuple(drawn[4 : 4 + n]), own)
    plans = plans_of(n, load, stored, 16)
    forms = [method_form(plans.names, each) for each in (old, new)]
    assert [methods_of(form, plans.names) for form in forms] == [old, new]
    window, model = plans.window, plans.window.model
    problem = PortfolioProblem(
        window.load, model, SelectionSettings(16), {}, IndexBytes(), new[:2], pinned=new.bits
    )
    asked = problem.served(*new[:2]) @ window.load.shares * float(load.requests)
    upkeep = sum(model.linked(window.load, module) for module in own)
    upkeep += float(model.one(window.load, new.bits).upkeep[0])
    prices = plans.prices(forms[1], sample)
    assert prices.mean() * load.requests == pytest.approx(asked + upkeep)
    every = np.arange(1 << n)
    apart = plans.prices(forms[1], every) - plans.prices(forms[0], every)
    assert plans.worst(*forms) == max(0.0, apart.max())
    hashed = sum(bits > 0 for bits in (*old.bits, *new.bits)) * float(load.hash)
    moved = stored * (hashed + 2) if any(new.bits) and new.bits != old.bits else 0.0
    filled = sum(stored * (module.bit_count() * float(load.hash) + 1) for module in own)
    assert plans.switching(*forms) == pytest.approx(moved + filled)
    assert plans.switching(forms[0], forms[0]) == 0


@pytest.mark.parametrize("n_phases", [6, 1])
def test_it_spends_less_than_selections_every_5_000_requests(n_phases: int) -> None:
    """Whatever it spends moving is in it; beside the best bits of each phase."""
    for seed in range(4):
        stream, looks = asked_stream(seed, n_phases, 360 // n_phases), list[SteeredLook]()
        own, thresholds = (
            followed(stream, chooser) for chooser in (piloted(looks), by_thresholds(5))
        )
        assert own.costs.sum() <= thresholds.costs.sum()
        assert own.costs.sum() <= 1.4 * sum(stream.bests())
        switches = [look for look in looks if look.verdict.is_switch]
        assert len(switches) == len(own.switched) <= 2 * n_phases


@pytest.mark.parametrize("seed", range(3))
def test_looks_taken_again_from_their_records_leave_the_same_state(seed: int) -> None:
    looks, pilot = list[SteeredLook](), IndexPilot("abc", "s")
    followed(asked_stream(seed, 3, 20), piloted(looks, pilot))
    schema = pilot.schema.form()
    records = json.loads(json.dumps([{**look.record, "schema": schema} for look in looks]))
    again = IndexPilot("abc", "s")
    assert again.resume(records, pilot.t) == []
    assert again.pilot.state() == pilot.pilot.state()
    assert again.t == pilot.t == 60_000


def test_a_batch_that_asks_nothing_and_pinned_bits_lead_to_no_look() -> None:
    """Also behind a turn of a knob, after which counts begin anew."""
    state, pilot = StateIndex(["a", "b", "c"]), IndexPilot("abc", "s")
    knobs = knobs_of(**PILOTED, **KNOBS)
    state.turn(knobs, None)
    asked = np.full(7, 10)
    for counts in (asked, 0 * asked, asked, asked):
        batch_of(state, counts)
        assert pilot.batch(state, state.in_force, knobs) is None
        state.assessor = None
    batch_of(state, 0 * asked)
    assert pilot.batch(state, state.in_force, knobs) is None
    state.turn(knobs, (4, 2, 2))
    batch_of(state, 100 * asked)
    assert pilot.batch(state, state.in_force, knobs) is None
    assert pilot.t == 7 * (3 * 10 + 1_000)
    assert not pilot.pilot.log.n_evaluations


@pytest.mark.parametrize(
    "knobs",
    [{"access": "hash"}, {"access": "scan"}, {"bit_division": "shared"}, {"assessment": "cdia"}],
)
def test_where_nothing_is_chosen_thresholds_go_on(knobs: dict[str, Any]) -> None:
    assert knobs_of(policy="autopilot").is_piloted
    assert not knobs_of(policy="autopilot", **knobs).is_piloted
    assert not knobs_of().is_piloted


def test_configurations_of_the_twin_are_ours() -> None:
    ours = {tuple(row) for row in configurations((BITS,) * 3, BITS, at_most=True).tolist()}
    assert ours == {tuple(bits) for bits in vectors(3, BITS, at_most=True)}
