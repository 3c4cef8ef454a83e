"""What plans that ran before would have cost goes on record, and nothing is decided by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.adaptive.planlog import hindsight
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic, PlanLogRefused
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
from bench import adapt_filters
from bench.adapt_run import PILOTED
from storage.vocabulary.planlog import PAST, PRICES, form_digest, stepped_price

PLANS = "abcd"
SCHEMA = LogSchema(tuple(NamedStatistic(f"cost {plan}", "visits") for plan in PLANS), "visits")
Rows = NDArray[np.float64]


@dataclass
class FourPlans:
    """A row is what a tuple costs under each plan."""

    schema: LogSchema = SCHEMA

    def statistics(self, sample: Rows) -> Sequence[float]:
        means: list[float] = sample.mean(axis=0).tolist()
        return means

    def search(self, sample: Rows) -> Sequence[LogJson]:
        return [PLANS[int(sample.sum(axis=0).argmin())]]

    def prices(self, plan: LogJson, sample: Rows) -> Rows:
        return sample[:, PLANS.index(plan)]

    def worst(self, old: LogJson, new: LogJson) -> float | None:
        return None


def run(seed: int, regimes: Sequence[int]) -> list[SteeredLook]:
    """Regimes of eight batches, each with its own best plan; 100 tuples a batch are sampled."""
    rng, steering, plan, looks = np.random.default_rng(seed), Steering(SCHEMA), "a", []
    for batch in range(8 * len(regimes)):
        costs = np.full(4, 3.0)
        costs[regimes[batch // 8]] = 1.0
        sample = rng.gamma(9.0, costs / 9.0, (100, 4))
        steering.sampled(2_000, sample)
        steering.ran(2_000, float(sample[:, PLANS.index(plan)].sum() * 20))
        if batch % 8 == 0:
            steering.settle(200)
        look = steering.look(FourPlans(), plan, 100, 1.0)
        if look is not None:
            looks.append(look)
            plan = look.plan
    return looks


regimes = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def decided(looks: Sequence[SteeredLook]) -> list[dict[str, Any]]:
    """Their records, without what is there for the record alone."""
    return [
        {key: value for key, value in look.record.items() if key not in (PRICES, PAST)}
        for look in looks
    ]


@given(st.integers(0, 2**32), regimes)
def test_decisions_are_those_without_prices_for_the_record(seed: int, regimes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hindsight.PlansThatRan, "priced", lambda *_: {})
        before = run(seed, regimes)
    assert decided(run(seed, regimes)) == decided(before)


def test_filters_decide_as_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = adapt_filters.correlated(20_000, 6)
    after = adapt_filters.followed(stream, PILOTED)
    monkeypatch.setattr(hindsight.PlansThatRan, "priced", lambda *_: {})
    before = adapt_filters.followed(stream, PILOTED)
    assert before.switched == after.switched
    assert before.n_looks == after.n_looks
    assert before.costs.tolist() == after.costs.tolist()
    assert len(after.switched) > 5


@given(st.integers(0, 2**32), regimes)
def test_every_plan_that_ran_is_priced_at_every_look(seed: int, regimes: list[int]) -> None:
    """S is the mean cost of each plan on the sample of a look; while conditions settle, plans are
    priced on all that was sampled since they changed."""
    ran, statistics = set[str](), dict[int, dict[str, float]]()
    for look in run(seed, regimes):
        record, forms = look.record, {form_digest(plan): plan for plan in PLANS}
        named = {record["plan"], *(offer[0] for offer in record["offers"])}
        others, past = record.get(PRICES, {}), record.get(PAST, [])
        means = dict(zip(PLANS, record["statistics"], strict=True))
        assert set(others) == ran - named
        if not record.get("settling"):
            for plan, step in others.items():
                price = stepped_price(step, record["cost"])
                assert price == pytest.approx(means[forms[plan]], rel=0.00501)
        is_new = look.ran[0] > 0 and record["plan"] not in ran
        assert [number for number, _ in past] == ([*statistics] if is_new else [])
        for number, step in past:
            then = statistics[number]
            assert 1.01**step == pytest.approx(then[look.present] / then["now"], rel=0.4)
        if look.ran[0]:
            ran.add(record["plan"])
            statistics[record["number"]] = {**means, "now": means[look.present]}


def test_the_most_used_are_priced_and_samples_kept_are_evenly_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hindsight, "MOST_PRICED", 2)
    monkeypatch.setattr(hindsight, "_MOST_LOOKS", 4)
    that_ran, known = hindsight.PlansThatRan(), {plan: plan for plan in PLANS}
    (first, *_) = run(1, [0])
    look, rows = first.look, np.ones((300, 4))
    for n_tuples, plan in ((5, "b"), (9, "c"), (7, "d"), (0, "a")):
        that_ran.ran(plan, n_tuples)
    for number in range(1, 20):
        named = replace(look, plan="b", offers=())
        written = that_ran.priced(FourPlans(), known, named, number, rows)
        assert set(written[PRICES]) == {"c", "d"}
    last = replace(look, plan="a", offers=())
    past = that_ran.priced(FourPlans(), known, last, 20, rows)[PAST]
    assert past == [[4, 0], [8, 0], [12, 0], [16, 0]]
    assert that_ran.state() == {"b": 5, "c": 9, "d": 7}


def test_counts_are_bounded_and_come_back_from_a_state() -> None:
    that_ran, again = hindsight.PlansThatRan(), hindsight.PlansThatRan()
    for n in range(1, 200):
        that_ran.ran(f"plan {n % 100}", n)
    assert len(that_ran.state()) == 64
    again.restore(that_ran.state())
    assert again.state() == that_ran.state()
    for poison in ({"a": -1}, {"a": 1.5}, 7):
        with pytest.raises(PlanLogRefused):
            hindsight.PlansThatRan().restore(poison)  # type: ignore[arg-type]
