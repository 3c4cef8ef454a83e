"""A run whose joins keep less: what is on record of it, killed or not, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from backend.model.ids import entity_id
from tests.engine_runs import RUN_ID, EngineRun
from tests.systems.running import SCHEMA

TEXT = "Select One.b, Two.d From S [Rows 40] As One, S [Rows 60] As Two Where One.a = Two.a"
LESS = "Select One.b From S [Rows 5] As One, S [Rows 6] As Two Where One.a < Two.a"
UNIT = "stream.network"
#: What is turned before a batch.
TURNS: dict[int, dict[str, Any]] = {
    3: {"retention": "universe", "retained_share": 0.5},
    6: {"retained_share": 0.25},
    9: {"retained_share": 0.75},
    13: {"retention": "off"},
}
#: The same of a run that goes through all rules.
RULES: dict[int, dict[str, Any]] = {
    2: {"retention": "universe", "retained_share": 0.5},
    4: {"retention": "prob"},
    7: {"retention": "rand"},
    11: {"retention": "life", "retained_share": 1.0, "retained_bytes": 3000},
    14: {"retention": "oldest"},
    16: {"retention": "off"},
}
N_BATCHES = 20


class RetainedRun(EngineRun):
    def __init__(
        self,
        folder: Path,
        continues: bool = False,
        turns: dict[int, dict[str, Any]] = TURNS,
        **others: str,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self._turns = turns
        super().__init__(
            folder / "store.db",
            {"S": SCHEMA},
            {"pairs": TEXT, **others},
            sink=folder / "out",
            continues=continues,
            state=folder / "state",
        )

    def turn(self, **knobs: Any) -> str:
        """What is said to the last of them."""
        for knob, value in knobs.items():
            asked = self.ask("knob", {"knob": knob, "value": value, "scope": UNIT})
        self.loop.idle()
        return self.answer(asked).answer

    def step(self) -> dict[str, dict[str, float | None]]:
        """A batch, and what monitors of retention told of it, by role."""
        for knob, value in self._turns.get(self.batch_id, {}).items():
            self.ask("knob", {"knob": knob, "value": value, "scope": UNIT})
        numbers = range(20 * self.batch_id, 20 * self.batch_id + 20)
        self.batch([{"a": n * n % 29, "b": n, "c": "x", "d": n + 1} for n in numbers])
        values = self.reader.values(RUN_ID)
        own = [e for e in self.reader.entities(RUN_ID) if e.role.startswith("retained")]
        return {f"{e.role} {e.id}": dict(values.get(e.id, {})) for e in own}

    def inexact(self, query: str = "pairs") -> list[int]:
        """Batches whose answers are marked as approximate."""
        series = self.reader.series(RUN_ID, entity_id(UNIT, "query", query), "inexact")
        return [] if series is None else series.batch.tolist()


def answers(folder: Path) -> Counter[tuple[Any, ...]]:
    table = ds.dataset(folder / "out" / "query=pairs", format="parquet").to_table()
    return Counter(tuple(sorted(row.items())) for row in table.to_pylist())


def test_a_killed_run_keeps_and_tells_what_an_undisturbed_one_does(tmp_path: Path) -> None:
    alone, run = RetainedRun(tmp_path / "alone"), RetainedRun(tmp_path / "killed")
    told: list[dict[str, dict[str, float | None]]] = []
    for batch in range(N_BATCHES):
        if batch in (4, 6, 7, 10, 13, 14):
            run.kill()
            run = RetainedRun(tmp_path / "killed", continues=True)
        told.append(alone.step())
        assert run.step() == told[-1], batch
    assert answers(tmp_path / "killed") == answers(tmp_path / "alone")
    assert run.inexact() == alone.inexact() == [*range(3, 15)]
    run.close()
    alone.close()
    kept = [_of(batch, "retained window", "key_share") for batch in told]
    assert kept[2:13] == [[], *[[0.5, 0.5]] * 3, *[[0.25, 0.25]] * 3, *[[0.75, 0.75]] * 4]
    samples = [_of(batch, "retained join", "sample_share") for batch in told]
    assert samples[8:13] == [[0.25], [0.25], [0.25], [0.75], [0.75]]


def test_a_killed_run_goes_through_all_rules_as_an_undisturbed_one(tmp_path: Path) -> None:
    alone = RetainedRun(tmp_path / "alone", turns=RULES)
    run = RetainedRun(tmp_path / "killed", turns=RULES)
    told: list[dict[str, dict[str, float | None]]] = []
    for batch in range(N_BATCHES):
        if batch in (3, 6, 8, 10, 12, 13, 15, 17):
            run.kill()
            run = RetainedRun(tmp_path / "killed", continues=True, turns=RULES)
        told.append(alone.step())
        assert run.step() == told[-1], batch
    assert answers(tmp_path / "killed") == answers(tmp_path / "alone")
    assert run.inexact() == alone.inexact()
    assert {2, 6, 10, 12, 15} <= set(run.inexact())
    assert N_BATCHES - 1 not in run.inexact()
    run.close()
    alone.close()
    joins = [{k: v for id, own in batch.items() if id.startswith("retained join")
              for k, v in own.items()} for batch in told]  # fmt: skip
    assert 0 < (joins[6]["expected_share"] or 0) < 1
    assert joins[6].get("sample_share") is None
    assert joins[10]["sample_share"] == 0.25
    assert joins[10]["estimated_results"] == 4 * (joins[10]["sampled_results"] or 0) > 0
    assert joins[13]["windows_bytes"] is not None


def test_in_one_unit_only_queries_that_lack_tuples_are_marked(tmp_path: Path) -> None:
    run = RetainedRun(tmp_path / "run", whole="Select b From S [Rows 40]")
    for _ in range(N_BATCHES):
        run.step()
    assert (run.inexact(), run.inexact("whole")) == ([*range(3, 15)], [])
    (unit,) = run.reader.units(RUN_ID)
    assert unit.queries == ("pairs", "whole")
    events = [e.event for e in run.reader.events(RUN_ID) if e.event.kind == "exactness"]
    assert {event.unit_id for event in events} == {UNIT}
    run.close()


def _of(batch: dict[str, dict[str, Any]], role: str, name: str) -> list[float]:
    return [values[name] for id, values in batch.items() if id.startswith(role)]


def test_estimates_stand_beside_what_is_there(tmp_path: Path) -> None:
    run = RetainedRun(tmp_path / "run")
    *_, told = (run.step() for _ in range(5))
    (join,) = (values for id, values in told.items() if id.startswith("retained join"))
    assert join["result_scale"] == 2
    assert join["estimated_results"] == 2 * (join["sampled_results"] or 0)
    low, high = join["estimated_low"] or 0, join["estimated_high"] or 0
    assert (join["sampled_results"] or 0) <= low < (join["estimated_results"] or 0) < high
    (entity,) = (e for e in run.reader.entities(RUN_ID) if e.role == "retained join")
    assert entity.properties["key"] == "a"
    assert entity.properties["kept_whole"] == []
    run.close()


def test_a_limit_in_bytes_is_obeyed_within_a_batch(tmp_path: Path) -> None:
    run = RetainedRun(tmp_path / "run")
    for _ in range(3):
        run.step()
    assert "refused" not in run.turn(retention="universe", retained_bytes=3000)
    used = []
    for _ in range(6):
        numbers = range(20 * run.batch_id, 20 * run.batch_id + 20)
        run.batch([{"a": n * n % 29, "b": n, "c": "x", "d": n + 1} for n in numbers])
        own = [e.id for e in run.reader.entities(RUN_ID) if e.role == "retained join"]
        used.append(run.reader.values(RUN_ID)[own[0]]["windows_bytes"] or 0)
    assert used[0] > 3000
    assert all(0 < n <= 3000 for n in used[1:])
    decisions = [one.decision for one in run.reader.decisions(RUN_ID, unit=UNIT)]
    kept = [one for one in decisions if one.kind == "retention"]
    assert {one.relation for one in kept} <= {">", "<"}
    assert any(one.relation == ">" and "of the values of a are kept" in one.explanation
               for one in kept)  # fmt: skip
    run.close()


def test_a_join_without_a_key_is_refused_while_joins_keep_less(tmp_path: Path) -> None:
    run = RetainedRun(tmp_path / "run")
    run.step()
    run.turn(retention="universe")
    asked = run.ask("query_add", {"name": "less", "text": LESS})
    run.step()
    answer = run.answer(asked)
    assert answer.state == "refused"
    assert "in query 'less' the join of S and S on 'a < a' has no equal attributes" in answer.answer
    run.turn(retained_queries="pairs; others")
    again = run.ask("query_add", {"name": "less", "text": LESS})
    run.step()
    assert run.answer(again).state == "applied"
    assert "has no equal attributes" in run.turn(retained_queries="")
    run.close()
