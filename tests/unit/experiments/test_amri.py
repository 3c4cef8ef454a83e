"""Experiments on AMRI: streams and routes as asked for, work as it is defined, the command."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import run
from backend.operators.network.eddy.tuning import StateTuning
from bench import amri as bench
from bench.experiments import amri, amri_designs
from bench.experiments.amri_clock import clocked
from bench.experiments.amri_data import (
    CLIQUE,
    MARGIN,
    N_STREAMS,
    PAIRS,
    DealtPhase,
    EddyCase,
    column,
    deals,
    dealt,
    sensors,
)
from bench.experiments.amri_designs import AmriSizes, drift, near_bits, ours, published, settings_of
from bench.experiments.amri_figures import all_peers
from bench.experiments.amri_ratios import Prices, all_runs, cost, ratio
from bench.experiments.amri_running import EddyWork, eddy_run, hashed_by
from bench.experiments.join_running import Arrivals, elements

SMALL = AmriSizes(scale=0.006, repeats=1)


def fan_outs(rates: tuple[float, ...], origin: int, order: tuple[int, ...]) -> list[float]:
    """Of each step, by the definition."""
    of = {frozenset(pair): rate for pair, rate in zip(PAIRS, rates, strict=True)}
    composite, found = [origin], []
    for state in order:
        found.append(float(np.prod([of[frozenset((state, known))] for known in composite])))
        composite.append(state)
    return found


def test_deals_are_rates_at_which_each_next_fan_out_is_clearly_the_least() -> None:
    assert len(deals()) > 100
    for deal, rates in [*deals().items()][::9]:
        for origin, place in enumerate(deal):
            others = [k for k in range(N_STREAMS) if k != origin]
            first, second, third = [*permutations(others)][place]
            least = fan_outs(rates, origin, (first,))[0]
            assert all(MARGIN * least <= fan_outs(rates, origin, (k,))[0] for k in (second, third))
            later = [fan_outs(rates, origin, (first, k))[1] for k in (second, third)]
            assert MARGIN * later[0] <= later[1]


@pytest.mark.parametrize("n_routes", [(1, 1, 1, 1), (2, 2, 2, 6), (2, 2, 6, 6), (2, 6, 6, 6)])
def test_streams_use_as_many_routes_as_asked_for(n_routes: tuple[int, ...]) -> None:
    phases = dealt(n_routes, np.random.default_rng(5))
    used = [{phase.routes[origin] for phase in phases} for origin in range(N_STREAMS)]
    assert tuple(map(len, used)) == n_routes


def test_a_tuple_has_as_many_partners_as_its_rate_says() -> None:
    rates = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    case = EddyCase("one", 200, 2_000, 1, 0, (DealtPhase(rates),))
    arrivals = case.arrivals(np.random.default_rng(1))
    values = arrivals.values.reshape(-1, N_STREAMS, N_STREAMS - 1)
    for (a, b), rate in zip(PAIRS, rates, strict=True):
        same = values[:, a, column(a, b)][:, None] == values[:, b, column(b, a)][None, :]
        assert same.mean() * 200 == pytest.approx(rate, rel=0.15, abs=0.1)
    assert len(CLIQUE.equal) == 6


def test_readings_of_sensors_are_joined_by_three_perfect_matchings() -> None:
    values = sensors(3_000, np.random.default_rng(1))
    assert len(np.unique(values[:, 0, column(0, 3)])) <= 54 // N_STREAMS
    for a, b in PAIRS:
        own, other = values[:, a, column(a, b)], values[:, b, column(b, a)]
        assert np.isin(own, other).any()


def naive_results(arrivals: Arrivals) -> int:
    """Of both signs, element by element."""
    parts = elements(arrivals)
    signed = sorted(
        (int(place), -int(sign), stream, tuple(row))
        for stream, part in enumerate(parts)
        for place, sign, row in zip(part.places, part.signs, part.values.tolist(), strict=True)
    )
    held: list[list[tuple[int, ...]]] = [[] for _ in parts]
    n = 0
    for _, sign, stream, row in signed:
        if sign > 0:
            held[stream].remove(row)
        found = [{stream: row}]
        for other in range(N_STREAMS):
            if other != stream:
                found = [
                    {**one, other: with_} for one in found for with_ in held[other]
                    if all(one[k][column(k, other)] == with_[column(other, k)] for k in one)
                ]  # fmt: skip
        n += len(found)
        if sign < 0:
            held[stream].append(row)
    return n


def test_all_designs_find_the_results_there_are() -> None:
    case = drift(SMALL)
    arrivals = case.arrivals(np.random.default_rng(1))
    settings = ours(case.window, SMALL.scale)
    untrained = case._replace(training=0, n_phases=case.n_phases + 4)
    found = {
        design.name: sum(batch.results for batch in eddy_run(untrained, design, 1))
        for design in (settings.base, settings.portfolio, settings.hashed(2), settings.even_split)
    }
    assert set(found.values()) == {naive_results(untrained.arrivals(np.random.default_rng(1)))}
    assert len(arrivals.streams) == N_STREAMS * case.n_each


def test_requests_are_hashed_by_what_answers_them() -> None:
    assert hashed_by(StateTuning(None), 0b111) == 0
    assert hashed_by(StateTuning((3, 0, 2)), 0b111) == 2
    assert hashed_by(StateTuning(None, (0b100, 0b110)), 0b111) == 2
    assert hashed_by(StateTuning(None, (0b100,)), 0b011) == 0
    mixed = StateTuning((1, 1, 1), (0b100,), serves=((0b101, 0b100),))
    assert [hashed_by(mixed, p) for p in (0b100, 0b101, 0b111, 0b010)] == [1, 1, 3, 1]


def test_work_of_an_even_split_is_that_of_its_definition() -> None:
    case = drift(SMALL)
    run_of = eddy_run(case, ours(case.window, SMALL.scale).even_split, 1)
    n = sum(batch.n_arrivals for batch in run_of)
    requests = np.sum([batch.requests for batch in run_of], axis=0)
    hashed, _, inserted, moved, links, *_ = np.sum([b.units for b in run_of], axis=0)
    asked = sum(int(requests[:, p].sum()) * p.bit_count() for p in range(8))
    assert (hashed, inserted, moved, links) == (asked + 3 * n, 2 * n, 0, 0)
    # what training decided last is made in the first batch
    static = eddy_run(case, ours(case.window, SMALL.scale).hashed(2, settles=True), 1)[1:]
    assert sum(b.units[4] for b in static) == 2 * sum(b.n_arrivals for b in static)
    assert static[-1].links == 2 * static[-1].stored == 2 * N_STREAMS * case.window


def test_with_equal_work_who_takes_less_has_more_results() -> None:
    def batches(work: float) -> tuple[EddyWork, ...]:
        units = np.array([0, work, 0, 0, 1, 10.0, 5])
        none = np.zeros((4, 8), np.int64)
        return (EddyWork(10, 5, units, 40, 0, 0, 1, 0, 0, none),) * 4

    runs = {"cheap": (batches(9),), "dear": (batches(19),)}
    assert ratio(runs, "cheap", "dear") == pytest.approx(2.0)
    assert ratio(runs, "dear", "cheap", Prices(link=181)) == pytest.approx(0.95)
    assert cost(runs["dear"], Prices(3, 0.1, 0.2)) == pytest.approx(2.4)
    assert clocked(batches(9), 2.0, 1000).died is None
    late = clocked(batches(99), 1.0, 75)
    assert (late.waiting, late.most, late.died) == ((30, 20, 10, 0), 30, None)
    assert clocked(batches(99), 1.0, 60)[1:] == (30, 0.25)


def test_the_paper_s_settings_are_those_of_its_section_9() -> None:
    full = AmriSizes()
    knobs = published(full.window, full.scale).base.then()
    assert (knobs.index_bits, knobs.epsilon, knobs.theta) == (64, 0.05, 0.1)
    assert (knobs.period_requests, knobs.trigger_requests) == (60_000, 100_000)
    assert (knobs.partition_share, knobs.migration, knobs.selection) == (
        0.25,
        "nothing",
        "window",
    )
    later = published(full.window, full.scale).assessed(0.1, 0.15).base.then()
    assert (later.epsilon, later.theta) == (0.1, 0.15)
    assert (later.period_requests, later.trigger_requests) == (40_000, 80_000)
    assert drift(full).n_each == 40 * 5_000 + 20_000
    assert near_bits(10_000) == 14


def test_designs_that_settle_change_nothing_behind_training() -> None:
    settings = settings_of(SMALL)[-1]
    names = [design.name for design in all_peers(settings)]
    assert names[:3] == ["AMRI", "static bitmap", "1 hash"]
    runs = all_runs(SMALL, "x", drift(SMALL), [settings.static_bitmap, settings.even_split])
    assert all(sum(batch.units[3] for batch in of[0][1:]) == 0 for of in runs.values())


def test_the_command_writes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "STATE", tmp_path)
    monkeypatch.setattr(amri_designs, "N_PHASES", 3)
    words = ["experiment", "amri", "--scale", "0.007", "--repeats", "1"]
    for figure in ("a6", "b5", "d1", "d2", "d3"):
        assert run.main([*words, "--figure", figure]) == 0
        assert f"{figure}  " in capsys.readouterr().out
    html = (tmp_path / "experiment-amri.html").read_text(encoding="utf-8")
    assert "<h1>AMRI" in html
    assert run.main([*words, "--figure", "a9"]) == 2
    assert "there are: a1" in capsys.readouterr().err
    rows = [*(f"a{k}" for k in range(1, 7)), *(f"b{k}" for k in range(1, 7))]
    rows += [*(f"c{k}" for k in range(1, 6)), "d1", "d2", "d3", "e1"]
    assert list(amri.FIGURES) == rows


def test_the_whole_bench_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    bench.small()
    said = capsys.readouterr().out
    assert "W = 100, phases of 0.5 W" in said
    assert "share of processor time" in said
    assert "nothing joins (D7)" in said
