"""Probe orders under the autopilot: what a run that was killed knows, and what a store has."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.model.schema import Schema
from storage.reading.plan_log import subjects
from storage.tables.rows import StoredLook
from storage.vocabulary.planlog import is_piloted
from tests.engine_runs import RUN_ID, EngineRun

KNOBS = {
    "policy": "autopilot",
    "caching": "off",
    "join_costs": "counted",
    "join_profile_prob": 1.0,
    "window_observations": 3,
}
TEXT = "Select R.x From R [Rows 40], S [Rows 40], T [Rows 40] Where R.x = S.x and S.x = T.x"
N_BATCHES, FLIP = 24, 12


def begun(path: Path, continues: bool = False) -> EngineRun:
    schemas = {name: Schema.parse("x int") for name in "RST"}
    state = path.with_suffix(".state")
    return EngineRun(path, schemas, {"q": TEXT}, KNOBS, continues=continues, state=state)


def ran(path: Path, kills: tuple[int, ...] = ()) -> EngineRun:
    """Few of R's tuples find one of T at first, then few find one of S."""
    run = begun(path)
    for batch in range(N_BATCHES):
        rng = np.random.default_rng(batch)
        highs = {"R": 4, "S": 4, "T": 60} if batch < FLIP else {"R": 4, "S": 60, "T": 4}
        run.batch({n: [{"x": int(x)} for x in rng.integers(0, h, 60)] for n, h in highs.items()})
        if batch in kills:
            run.kill()
            run = begun(path, continues=True)
    return run


def looks_of(run: EngineRun) -> dict[str, list[StoredLook]]:
    looks = run.reader.looks(RUN_ID, limit=10_000)
    return {
        subject: [look for look in looks if look.subject == subject]
        for subject in subjects(run.reader, RUN_ID, None)
        if is_piloted(subject)
    }


def test_orders_are_followed_and_told_as_looks_of_each_pipeline(tmp_path: Path) -> None:
    run = ran(tmp_path / "s.db")
    assert list(looks_of(run)) == [f"x: order of {name} by autopilot" for name in "RST"]
    switched = [e.decision for e in run.reader.decisions(RUN_ID, verdicts=["switched"], limit=500)]
    own = [d for d in switched if d.detail.get("subject") == "x: order of R by autopilot"]
    assert own[0].batch >= FLIP  # the newest
    assert own[0].new is not None
    assert own[0].new["order"] == ["S", "T"]
    assert own[0].explanation.startswith("x: order of R: ")
    run.close()


def test_logs_go_on_after_kills_at_the_times_of_an_undisturbed_run(tmp_path: Path) -> None:
    """What is sampled is gone with a kill, so that single looks may come a batch later."""
    whole, killed = ran(tmp_path / "a.db"), ran(tmp_path / "b.db", (3, 11, 14))
    for one, other in zip(looks_of(whole).values(), looks_of(killed).values(), strict=True):
        numbers = [look.record["number"] for look in other]
        assert numbers == list(range(1, len(other) + 1))
        assert len({look.record["began"] for look in other}) == 1
        times = {look.batch: look.record["t"] for look in one}
        both = [look for look in other if look.batch in times]
        assert len(both) > 3
        assert all(look.record["t"] == times[look.batch] for look in both)
        assert [look.record for look in one[:3]] == [look.record for look in other[:3]]
        plans = [of[-1].forms[of[-1].record["chosen"]] for of in (one, other)]
        assert plans[0] == plans[1]
    whole.close()
    killed.close()
