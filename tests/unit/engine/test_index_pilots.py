"""Autopilots of access methods in a run: their looks on record, over kills, and plain evaluations
of the rest."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from backend.model.schema import Schema
from backend.systems.registry import AMRI, STREAM
from storage.tables.rows import StoredLook
from storage.vocabulary.planlog import BY_AUTOPILOT, LOOK
from tests.engine_runs import RUN_ID, EngineRun
from tests.oracles.look_records import RULES
from tests.unit.engine.test_network_plan_logs import OnlyAmri

SCHEMAS: Final = {name: Schema.parse("x int, y int") for name in "ABC"}
CQL: Final = (
    "Select A.x From A [Rows 400], B [Rows 400], C [Rows 400] Where A.x = B.x and B.y = C.y"
)
PILOTED: Final = {"policy": "autopilot", "index_bits": 8, "reject_sample_every": 1000}
SUBJECT: Final = ": index of B" + BY_AUTOPILOT


def ran(path: Path, access: str, kills: tuple[int, ...] = (), n: int = 24) -> EngineRun:
    """What B is asked for by changes half-way."""
    system = OnlyAmri(AMRI.name, AMRI.title, AMRI.cores, AMRI.needs)
    knobs = {**PILOTED, "access": access}

    def begun(continues: bool) -> EngineRun:
        systems = (system, STREAM)
        return EngineRun(
            path, SCHEMAS, {"q": CQL}, knobs, systems=systems, continues=continues,
            state=path.parent / "state",
        )  # fmt: skip

    run, rng = begun(False), np.random.default_rng(3)
    for batch in range(n):
        few = (300, 10) if batch < n // 2 else (10, 300)
        rows = {"A": few[0], "B": 60, "C": few[1]}
        drawn = {name: rng.integers(0, 200, (size, 2)).tolist() for name, size in rows.items()}
        run.batch({name: [{"x": x, "y": y} for x, y in of] for name, of in drawn.items()})
        if batch in kills:
            run.kill()
            run = begun(True)
    return run


def looks_of(run: EngineRun) -> list[StoredLook]:
    return [look for look in run.reader.looks(RUN_ID) if look.subject.endswith(SUBJECT)]


@pytest.mark.parametrize("access", ["bitmap", "portfolio"])
def test_looks_at_a_state_are_on_record_and_go_on_over_kills(tmp_path: Path, access: str) -> None:
    run = ran(tmp_path / "s.db", access, (14, 17))
    looks = looks_of(run)
    assert [look.record["number"] for look in looks] == list(range(1, len(looks) + 1))
    assert len({look.record["began"] for look in looks}) == 1
    assert all(before.record["t"] < after.record["t"] for before, after in pairwise(looks))
    assert any(look.batch > 17 for look in looks)
    switched = [e.decision for e in run.reader.decisions(RUN_ID, verdicts=["switched"], limit=500)]
    own = [d for d in switched if d.detail.get("subject", "").endswith(SUBJECT)]
    assert own
    for decision in own:
        assert decision.kind == LOOK
        assert decision.lhs == pytest.approx(RULES[LOOK](decision)[0])
        assert decision.rhs == pytest.approx(RULES[LOOK](decision)[1])
        assert "index of B: " in decision.explanation
        assert "work per request" in decision.explanation
        offers = {offer[0]: offer for offer in decision.detail["plan_log"]["offers"]}
        rival = decision.detail["plan_log"]["rival"]
        assert offers[rival][6] == decision.detail["plan_log"]["switching"]
    subjects = {look.subject for look in run.reader.looks(RUN_ID)}
    assert not any("index of" in each for each in subjects if not each.endswith(BY_AUTOPILOT))
    run.close()


def test_until_a_kill_looks_are_those_of_an_undisturbed_run(tmp_path: Path) -> None:
    """And behind it the log is the same, but for what was sampled since the last look."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    runs = [ran(tmp_path / "a/s.db", "bitmap"), ran(tmp_path / "b/s.db", "bitmap", (16,))]
    alone, killed = (looks_of(run) for run in runs)
    before = [[look.record for look in looks if look.batch <= 16] for looks in (alone, killed)]
    assert before[0] == before[1] != []
    last, next_one = alone[len(before[0])], killed[len(before[0])]
    assert next_one.record["number"] == last.record["number"]
    assert next_one.record["plan"] == last.record["plan"]
    for run in runs:
        run.close()
