"""Experiments on k-constraints: all runs find the same results, under constraints with less."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import run
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kmon.tuning import ConstraintId, ConstraintTuning, KMonTuning
from backend.workloads.adhering import (
    S1,
    S2,
    S3,
    WIDTH,
)
from bench import kmon_choice
from bench.experiments import kmon, kmon_memory
from bench.experiments.join_running import BenchJoin
from bench.experiments.kmon_memory import CA, OAC, OAP, RIDS, MemorySetUp, traced
from bench.experiments.kmon_running import BenchQuery, _shrunk, kmon_run
from bench.experiments.kmon_sizes import KMonSizes, declared


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize("of", [RIDS, CA, OAP, OAC], ids=["RIDS", "CA", "OAP", "OAC"])
@pytest.mark.parametrize("k", [0, 20])
def test_swj_and_k_mon_find_the_same_results(of: MemorySetUp, k: int) -> None:
    query, trace = BenchQuery(of.graph, 150), traced(of, 3000, k)(rng())
    join = BenchJoin(JoinOp(query.graph.equal), (WIDTH,) * query.graph.n)
    join.tune(JoinTuning())
    windows = _shrunk(query, trace)
    found = join.run(windows)
    wanted = int((found.sign > 0).sum())
    assert wanted > 100
    for tuning in (KMonTuning(), declared(of.constraints(trace))):
        outcome = kmon_run(query, trace, tuning, 500)
        assert sum(one.profile.n_results for one in outcome) == wanted
        held_by_swj = sum(int(one.signs.sum()) for one in windows)
        assert outcome[-1].plain == pytest.approx(held_by_swj, rel=1 / 32)


def test_a_constraint_saves_tuples() -> None:
    query, trace = BenchQuery(RIDS.graph, 500), traced(RIDS, 14_000, 10)(rng())
    held = [
        kmon_run(query, trace, tuning, 1000)[-1].held
        for tuning in (KMonTuning(), declared(RIDS.constraints(trace)))
    ]
    assert held[1] < 0.6 * held[0]
    assert RIDS.constraints(trace) == {
        ConstraintId("RIDS", S1, S2): 10,
        ConstraintId("RIDS", S1, S3): 10,
    }


def test_the_command_writes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "STATE", tmp_path)
    words = ["experiment", "kmon", "--scale", "0.01", "--repeats", "1"]
    assert run.main([*words, "--figure", "6.12"]) == 0
    assert "6.12  " in capsys.readouterr().out
    html = (tmp_path / "experiment-kmon.html").read_text(encoding="utf-8")
    assert "<h1>k-constraints" in html
    assert run.main([*words, "--figure", "9.9"]) == 2
    assert "there are: 6.1" in capsys.readouterr().err


def test_sizes_are_shares_of_the_text_s() -> None:
    assert all(key.removeprefix("table-").startswith("6.") for key in kmon.FIGURES)
    sizes = KMonSizes(0.01)
    assert (sizes.window, sizes.run, sizes.adherences) == (500, 6000, (0, 50, 100, 200))
    assert kmon_memory.RIDS.graph.n == 3


def test_constraints_that_only_keep_parents_longer_are_not_chosen() -> None:
    """Fig. 6.13: beside CA, RIDS lets go what No refutes, and leaves its keys."""
    ca = next(each for each in kmon_choice.streams(60_000) if each.name == "CA, k changes")
    bench = kmon_choice.ChoiceBench(ca)
    held, sets, _ = bench.chosen()
    best = bench.always({"CA 0.0", "CA 1.0"})
    both = bench.always({"CA 0.0", "CA 1.0", "RIDS 0 2", "RIDS 1 2"})
    late = slice(20, None)
    assert both[late].sum() > 1.3 * best[late].sum()
    assert held[late].sum() < 1.1 * best[late].sum(), sets[-1]


def test_what_a_change_kept_is_beside_the_set_before(capsys: pytest.CaptureFixture[str]) -> None:
    oac = next(each for each in kmon_choice.streams(24_000) if each.name == "OAC")
    bench = kmon_choice.ChoiceBench(oac)
    none, some = frozenset[str](), frozenset({"OAP 0.0"})
    sets = [none] * 10 + [some] * 40 + [none] * 10
    watched = KMonTuning((ConstraintTuning(bench.view.candidates["OAP 0.0"].id, is_used=False),))
    used = KMonTuning((ConstraintTuning(bench.view.candidates["OAP 0.0"].id),))
    chosen = kmon_choice.ChosenSets(
        bench.under(sets), sets, [used if of else watched for of in sets]
    )
    (change,) = bench.changes(chosen, 1.0)
    kept = chosen.held.sum() - bench.under([*sets[:50], *[some] * 10]).sum()
    assert change == (50, some, none, kept)
    assert kept > 0, "none at all holds more"
    kmon_choice.tell_choice("OAC", bench)
    assert "changes of 60 batches" in capsys.readouterr().out
