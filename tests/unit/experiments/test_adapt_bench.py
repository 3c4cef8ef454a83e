"""What the bench of adapting counts: plans that are never left, and best ones."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from backend.systems.amri.migration import moving_cost
from backend.systems.amri.states import StateIndex
from backend.workloads.drift import Phase
from bench import adapt
from bench import adapt_amri as indexes
from bench import adapt_filters as filters
from bench import adapt_joins as orders
from bench import adapt_selections as selections
from bench.adapt_run import BY_THRESHOLDS, PILOTED, AdaptRun, phase_at, together
from storage.vocabulary.amri_costs import REFINED, Bits


def test_filters_that_stay_as_written_cost_what_they_cost_tuple_by_tuple() -> None:
    stream = filters.correlated(2_000, 2)
    run = filters.followed(stream, {"filter_algorithm": "static"})
    spent = [0.0, 0.0]
    for place, drops in enumerate(stream.drops):
        asked = int(drops.argmax()) + 1 if drops.any() else len(drops)
        spent[place // 2_000] += sum(filters.COSTS[:asked])
    assert run.spent(stream.phases) == spent
    assert run.switched == []
    bests = stream.bests()
    assert all(best < mine for best, mine in zip(bests, spent, strict=True))
    assert sum(bests) <= stream.best() < sum(spent)


def test_selections_that_find_a_better_order_say_so() -> None:
    phases = [Phase("uniform", 4_000, ("a1",)), Phase("uniform", 4_000, ("a4",), ("a1",))]
    stream = selections.DriftStream.of(phases)
    run = selections.followed(stream, {**BY_THRESHOLDS, "lambda_tuples": 1_000, "mu": 0.0})
    assert run.switched
    assert sum(stream.bests()) <= stream.best() <= sum(run.spent(stream.phases))
    assert run.n_looks >= len(run.switched)


def test_false_switches_are_those_to_dearer_plans() -> None:
    run = AdaptRun(100, np.full(10, 300.0), [(3.0, 2.0), (2.0, 3.0)], 5, 0.0)
    assert run.false_switches == 1
    assert run.priced() == pytest.approx(3_000 * 3)


def test_looks_at_what_stays_as_it_is_switch_seldom() -> None:
    n_switches, n_false = filters.looked(150)
    assert 1 <= n_switches <= 8
    assert n_false <= 1


def test_the_autopilot_is_followed() -> None:
    assert filters.followed(filters.correlated(20_000, 1), PILOTED).n_looks > 5


def test_a_pipeline_that_stays_costs_what_it_costs_element_by_element() -> None:
    stream = orders.pipeline_stream(1, 2, 2_000, n=3)
    run = orders.followed(stream, lambda *_: False)
    by_order = {
        order: [_asked(order, stream.drops[a : a + 2_000]) for a in (0, 2_000)]
        for order in permutations((1, 2, 3))
    }
    assert run.spent(stream.phases) == pytest.approx(by_order[1, 2, 3])
    assert stream.bests() == [min(each) for each in zip(*by_order.values(), strict=True)]
    assert stream.best() == min(map(sum, by_order.values()))
    assert (run.switched, run.n_looks, run.switch_tuples) == ([], 0, orders.SWITCH_ELEMENTS)


def _asked(order: tuple[int, ...], drops: orders.Drops) -> int:
    cost = 0
    for row in drops.tolist():
        for j in order:
            cost += orders.COSTS[j]
            if row[j - 1]:
                break
    return cost


def test_what_only_profiles_ask_of_a_pipeline_is_watching() -> None:
    stream = orders.pipeline_stream(1, 1, 2_000)
    run = orders.followed(stream, lambda *_: False, profile_prob=1.0)
    assert run.watching == pytest.approx(2_000 * (1 + 3 + 2 + 1) - run.costs.sum())
    assert orders.followed(stream, lambda *_: False, profile_prob=0.0).watching == 0


def test_bits_that_stay_and_bits_that_change_once_cost_what_the_model_says() -> None:
    stream, new = indexes.asked_stream(1, 2, 3), (8, 0, 0)

    def once(state: StateIndex) -> bool:
        if state.bits != new:
            state.turn(state.knobs, new)
        return False

    kept, changed = (indexes.followed(stream, chooser) for chooser in (lambda _: False, once))
    own, other = ([_work(bits, row) for row in stream.asked] for bits in ((3, 3, 2), new))
    assert kept.costs == pytest.approx(own)
    moved = moving_cost(REFINED, indexes.STORED, (3, 3, 2), new)
    assert changed.costs == pytest.approx([own[0] + moved, *other[1:]])
    ((before, after),) = changed.switched
    assert before == pytest.approx(sum(own[:3]) / 3_000)
    assert after == pytest.approx(sum(other[:3]) / 3_000)
    assert changed.priced() == changed.costs.sum()
    assert not kept.switched
    by_bits = [[_work(bits, row) for row in stream.asked] for bits in map(tuple, indexes.ALL)]
    least = [min(sum(of[a : a + 3]) for of in by_bits) for a in (0, 3)]
    assert stream.bests() == pytest.approx(least)
    assert stream.best() == pytest.approx(min(map(sum, by_bits)))


def _work(bits: Bits, asked: indexes.Counts) -> float:
    place = [tuple(each) for each in indexes.ALL.tolist()].index(tuple(bits))
    each = zip(asked.tolist(), indexes.COSTS.requests[place].tolist(), strict=True)
    work: float = indexes.COSTS.upkeep[place] + sum(n * cost for n, cost in each)
    return work


def test_conditions_come_back_and_tuples_do_not() -> None:
    drops = np.split(orders.pipeline_stream(2, 4, 20_000, regimes=2).drops, 4)
    asked = np.split(indexes.asked_stream(2, 4, 20, regimes=2).asked, 4)
    for parts, scale in ((drops, 1.0), (asked, indexes.REQUESTS)):
        shares = [part.mean(axis=0) / scale for part in parts]
        for own, again, other in ((0, 2, 1), (1, 3, 2)):
            assert shares[own] == pytest.approx(shares[again], abs=0.02)
            assert abs(shares[own] - shares[other]).max() > 0.1
            assert (parts[own] != parts[again]).any()


def test_seeds_are_summed_phase_by_phase() -> None:
    runs = [AdaptRun(10, np.full(4, cost), [(1.0, 2.0)], 3, 0.5, 2.0, 20) for cost in (5.0, 7.0)]
    both = together(runs)
    assert both.spent((20, 20, 20, 20)) == [10, 10, 14, 14]
    assert (both.n_looks, both.false_switches, both.deciding_s, both.watching) == (6, 2, 1.0, 4.0)
    assert both.priced() == pytest.approx(48 * (1 + 20 * 2 / 80))
    assert [phase_at(place, (20, 30)) for place in (19, 20, 49)] == [
        slice(0, 20),
        slice(20, 50),
        slice(20, 50),
    ]


def test_tables_have_a_row_for_each_policy(capsys: pytest.CaptureFixture[str]) -> None:
    adapt.joins(adapt.OrderCase(2, 5_000), n_seeds=1)
    adapt.joins_recurring(2_000, regimes=1, n_seeds=2)
    adapt.bits(2, 6, n_seeds=1)
    adapt.bits_recurring(6, regimes=1, n_seeds=2)
    rows = [line[2:26].strip() for line in capsys.readouterr().out.splitlines() if line[:1] == " "]
    both, all_bits = ["autopilot", "thresholds"], [*adapt.BITS]
    assert rows == ["", *both, *both, "", *all_bits, *all_bits]
