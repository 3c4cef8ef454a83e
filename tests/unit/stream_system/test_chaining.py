"""When other chains are adopted, and what the decision says of both sides."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from backend.operators.network.core.job import Policy
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer
from backend.operators.network.core.reports import OperatorCounts
from backend.systems.stream.chains.bursts import waiting
from backend.systems.stream.chains.chaining import IN_A_ROW, MIN_GAIN, Chaining, ChainWatch
from backend.systems.stream.chains.measured import FADING, LEAST_US, NetworkProfile
from backend.systems.stream.chains.progress import Paths, slopes_of, steps_of
from storage.vocabulary.headroom import read
from storage.vocabulary.records import Decision, DecisionOutcome
from tests.unit.stream_system.test_chains import operator

#: Two paths of two operators.
PLAN = NetworkPlan(
    (
        operator("S"),
        operator("T"),
        operator("a", "S"),
        operator("b", "a"),
        operator("c", "T"),
        operator("d", "c"),
    ),
    {"p": PlannedAnswer("b", False), "q": PlannedAnswer("d", False)},
)
NAMES = {id: id.upper() for id in "abcd"}


def counts(out_a: int, out_c: int, us: float = 1.0) -> dict[str, OperatorCounts]:
    """A batch of 1000 tuples on each path; us: what an element takes each operator."""
    taken = {"a": 1000, "b": out_a, "c": 1000, "d": out_c}
    out = {"a": out_a, "b": out_a, "c": out_c, "d": out_c}
    busy = {id: round(1000 * us * n) for id, n in taken.items()}
    inputs = {id: OperatorCounts(1000, 1000) for id in "ST"}
    return inputs | {id: OperatorCounts(taken[id], out[id], busy[id], 1) for id in taken}


class Watched:
    """A watch with its profile and the chains in force."""

    def __init__(self, policy: Policy = "chain", plan: NetworkPlan = PLAN) -> None:
        self.policy: Policy = policy
        self.plan = plan
        self.watch, self.profile, self.running = ChainWatch(), NetworkProfile(), Chaining()

    def batch(self, told: Mapping[str, OperatorCounts], n: int = 2000) -> Decision:
        self.profile.ran(told)
        found = self.watch.check(
            0, n, self.steps, self.profile, self.policy, self.running, NAMES, knob_version=0
        )
        self.running = found.adopted or self.running
        return found.decision

    @property
    def steps(self) -> Paths:
        return steps_of(self.plan, self.profile.selectivities, self.profile.costs)

    def outcomes(self, batch_id: int) -> tuple[DecisionOutcome, ...]:
        return self.watch.outcomes(batch_id, 2000, self.steps, self.profile, "chain", 0.25)


def test_chains_are_adopted_when_they_are_known_and_again_when_others_keep_less() -> None:
    watched = Watched()
    first = watched.batch(counts(100, 900))
    assert (first.verdict, first.metric, first.lhs, first.rhs) == ("switched", "n_chains", 2, 0)
    assert first.new == ["A → B", "C → D"]
    assert watched.batch(counts(100, 900)).verdict == "below_threshold"
    found = [watched.batch(counts(900, 100)) for _ in range(6)]
    switched = [d for d in found if d.verdict == "switched"]
    assert switched
    last = switched[-1]
    assert last.lhs is not None
    assert last.lhs >= MIN_GAIN == last.rhs
    assert last.predicted_new is not None
    assert last.predicted_new < (last.predicted_old or 0)
    assert last.lhs == pytest.approx(1 - last.predicted_new / (last.predicted_old or 1))
    assert last.old != last.new
    assert last.detail["chains"] != last.detail["chains_before"]
    charts = {tuple(chart["operators"]): chart["points"] for chart in last.detail["charts"]}
    assert charts["A", "B"][0] == [0.0, 1.0]
    assert charts["A", "B"][-1][1] == 0.0


def test_chains_that_are_the_same_say_whose_slope_is_next() -> None:
    """C → D drops a tenth as it goes, A → B nine tenths: its slope has to reach that of A → B."""
    watched = Watched()
    watched.batch(counts(100, 900))
    decision = watched.batch(counts(100, 900))
    assert decision.verdict == "below_threshold"
    slopes = {one["operators"][0]: one["slope"] for one in decision.detail["chains"]}
    (behind, *_) = [one for one in read(decision.detail) if (one.entity, one.over) == ("C", "A")]
    assert behind.words.startswith("C → D runs before A → B if it frees")
    assert behind.missing == pytest.approx(slopes["A"] - slopes["C"])
    assert behind.near == pytest.approx(slopes["C"] / slopes["A"])


def test_a_gain_has_to_last() -> None:
    watched = Watched()
    watched.batch(counts(100, 900))
    before, unlike = watched.running, counts(1000, 0)
    for n in range(1, IN_A_ROW):
        decision = watched.batch(unlike)
        assert (decision.verdict, watched.running) == ("kept", before)
        assert [one.missing for one in read(decision.detail)] == [IN_A_ROW - n]
        assert read(decision.detail)[0].words.endswith(f"{IN_A_ROW} batches in a row, so far {n}")
        assert decision.lhs is not None
        assert decision.lhs >= MIN_GAIN
        assert f"in {n} of the {IN_A_ROW} batches in a row" in decision.explanation
    assert watched.batch(unlike, n=99).verdict == "thin"
    assert watched.batch(unlike).verdict == "switched"
    assert watched.running != before


def test_predictions_are_those_of_a_burst_under_each_side() -> None:
    watched = Watched()
    watched.batch(counts(100, 900))
    before = watched.running
    decision = watched.batch(counts(1000, 0))
    steps, arrivals = watched.steps, {"a": 0.5, "c": 0.5}
    fresh = slopes_of("chain", steps)
    assert decision.predicted_new == waiting("chain", steps, arrivals, fresh)
    assert decision.predicted_old == waiting("chain", steps, arrivals, before.slopes)


def test_too_few_tuples_and_schedulers_without_chains_change_nothing() -> None:
    thin = Watched()
    assert thin.batch(counts(100, 900), n=99).verdict == "thin"
    pinned = Watched("fifo")
    assert pinned.batch(counts(100, 900)).verdict == "pinned"
    assert thin.running.slopes == pinned.running.slopes == {}


def test_a_plan_of_inputs_alone_has_no_chains_to_adopt() -> None:
    inputs = NetworkPlan((operator("S"),), {"p": PlannedAnswer("S", True)})
    watched = Watched(plan=inputs)
    for _ in range(3):
        decision = watched.batch({"S": OperatorCounts(1000, 1000)})
        assert (decision.verdict, decision.lhs, decision.rhs) == ("below_threshold", 0, 0)
        assert decision.explanation == "the same 0 chains: 0.00 of a burst waits on average"
    assert watched.running == Chaining()


def test_what_became_of_a_switch_is_told_once() -> None:
    watched = Watched()
    watched.batch(counts(100, 900))
    watched.profile.ran(counts(100, 900))
    (outcome,) = watched.outcomes(1)
    assert (outcome.decision, outcome.actual_new) == (1, 0.25)
    assert outcome.counterfactual_old is not None
    assert outcome.sample_new is not None
    assert outcome.sample_new <= outcome.counterfactual_old
    assert watched.outcomes(2) == ()


def test_what_became_of_a_switch_is_not_told_of_another_plan() -> None:
    watched = Watched()
    watched.batch(counts(100, 900))
    watched.watch.forget()
    assert watched.outcomes(1) == ()


def test_a_profile_fades_and_forgets_operators_that_are_gone() -> None:
    profile = NetworkProfile()
    profile.ran(counts(100, 900, us=2.0))
    profile.ran(counts(500, 900, us=2.0))
    assert profile.selectivities["a"] == pytest.approx(
        (100 * FADING + 500) / (1000 * FADING + 1000)
    )
    assert profile.costs["a"] == pytest.approx(2.0)
    assert profile.costs["S"] == LEAST_US
    work = profile.work_us(PLAN)
    assert work == pytest.approx(2.0 * sum(profile.n_in[id] for id in "abcd") / 3000)
    profile.only(NetworkPlan(PLAN.operators[:3]))
    assert set(profile.operators) == {"S", "T", "a"}
    assert NetworkProfile().work_us(PLAN) == 0


def test_an_operator_that_takes_nothing_for_long_is_as_if_it_never_had() -> None:
    """What it did fades, and is forgotten before it is too small to divide by: so it is with stored
    relations, whose tuples come in the first batch."""
    watched = Watched()
    watched.batch(counts(100, 900, us=0.7))
    nothing = OperatorCounts(busy_ns=40_000, n_runs=1)
    quiet = {id: nothing if id in "Tcd" else one for id, one in counts(100, 900, 0.7).items()}
    costs = watched.profile.costs
    for _ in range(1200):
        decision = watched.batch(quiet)
        told = (decision.lhs, decision.rhs, decision.predicted_old, decision.predicted_new)
        assert all(one is None or math.isfinite(one) for one in told)
        slopes = slopes_of("chain", watched.steps) | dict(watched.running.slopes)
        assert all(math.isfinite(slope) for slope, _ in slopes.values())
        known = watched.profile.costs
        assert known == pytest.approx({id: costs[id] for id in known})
    assert set(watched.profile.costs) == set("Sab")
    assert math.isfinite(watched.profile.work_us(PLAN))
