"""A run whose window sheds, killed: tuples, totals, decisions and answers as if it had not been."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from backend.model.schema import ValidTimes
from tests.engine_runs import RUN_ID, EngineRun
from tests.systems.running import SCHEMA

TEXT = "Select a, Valid(S) From S (a) [Rows 50]"
UNIT = "cals.network"
#: What is turned before a batch.
TURNS: dict[int, dict[str, Any]] = {
    3: {"memory_tuples": 12, "audit": "exact"},
    6: {"shed_algorithm": "rand"},
    8: {"memory_tuples": 5},
    10: {"shed_algorithm": "oldest", "accuracy_metric": "R2"},
    12: {"memory_tuples": 0},
}
N_BATCHES = 21
PUBLISHED = (
    *("resident_tuples", "shed_total", "sheddings_total", "shed_ends_total", "kept_runs"),
    *("tuples_bytes", "runs_bytes", "audit_bytes", "limited_tuples"),
    *("expected_accuracy", "measured_accuracy", "extraneous_coalesced", "accuracy_remainder"),
)


#: Of a run that is short of memory: the pool of the run, a page holds 128 tuples, or what is kept
#: beside of 256.
POOLS = {0: 0, 6: 20_480, 9: 16_384, 12: 24_576, 15: 0}
SHORT = (
    "Select a, c, Valid(S) From S (a, c) [Rows 500]",
    "Select b, c, Valid(S) From S (b, c) [Rows 300]",
)
_ROW = 32


class ShedRun(EngineRun):
    form = "tuples"
    text, schema = TEXT, SCHEMA

    def __init__(self, folder: Path, continues: bool = False) -> None:
        super().__init__(
            folder / "store.db",
            {"S": self.schema},
            {"plain": "Select a From S Where a > 90"},
            sink=folder / "out",
            continues=continues,
            state=folder / "state",
        )

    def step(self) -> dict[str, float | None]:
        """A batch, and what the window told of itself."""
        for knob, value in TURNS.get(self.batch_id, {}).items():
            self.ask("knob", {"knob": knob, "value": value, "scope": UNIT})
        if self.batch_id == 1:
            self.ask("knob", {"knob": "state_form", "value": self.form, "scope": UNIT})
        if not self.batch_id:
            self.ask("query_add", {"name": "shed", "text": self.text, "system": "cals"})
        numbers = range(10 * self.batch_id, 10 * self.batch_id + 10)
        self.batch(
            [
                {"a": n * n // 3 % 4, "b": n, "c": "xyzuvw"[n * n % 6], "d": n + 1 + n % 3}
                for n in numbers
            ]
        )
        values = self.reader.values(RUN_ID)
        windows = [e.id for e in self.reader.entities(RUN_ID) if e.role == "shed"]
        return {name: values[id].get(name) for id in windows for name in PUBLISHED}

    @property
    def decisions(self) -> list[tuple[int, str]]:
        """Begins and ends of shedding: batch, words."""
        kept = [one.decision for one in self.reader.decisions(RUN_ID, unit=UNIT)]
        return sorted((one.batch, one.explanation) for one in kept if one.kind == "shedding")


def answers(folder: Path) -> Counter[tuple[Any, ...]]:
    table = ds.dataset(folder / "out" / "query=shed", format="parquet").to_table()
    return Counter(tuple(sorted(row.items())) for row in table.to_pylist())


#: Where shedding begins, in each state form.
BEGINS = {
    "tuples": "sheds cals: 40 tuples wanted",
    "runs": "sheds rand: 121 bytes of runs wanted",
}


@pytest.mark.parametrize("kills", [range(1, N_BATCHES), (4, 9, 13)])
@pytest.mark.parametrize("form", [*BEGINS])
def test_a_killed_run_sheds_and_counts_as_an_undisturbed_one(
    tmp_path: Path, kills: Any, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time machines are others, so that state comes from the log alone."""
    monkeypatch.setattr(ShedRun, "form", form)
    (tmp_path / "alone").mkdir()
    (tmp_path / "killed").mkdir()
    alone, run = ShedRun(tmp_path / "alone"), ShedRun(tmp_path / "killed")
    for batch in range(N_BATCHES):
        if batch in kills:
            run.kill()
            run = ShedRun(tmp_path / "killed", continues=True)
        last = alone.step()
        assert run.step() == last, batch
    assert (last["sheddings_total"], last["shed_ends_total"]) == (1, 1)
    assert run.decisions == alone.decisions
    assert [words for _, words in run.decisions] == [BEGINS[form], "answers are exact again"]
    assert answers(tmp_path / "killed") == answers(tmp_path / "alone")
    run.close()
    alone.close()


class ReadingsRun(ShedRun):
    """Tuples are readings, some keys are silent for a batch or two; a batch is a tick."""

    text = "Select a, Valid(S) From S (a) [Range 9]"
    schema = replace(SCHEMA, valid=ValidTimes("b", key="c", type="bigint"))


def test_readings_are_shed_alike_killed_or_not(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    (tmp_path / "killed").mkdir()
    alone, run = ReadingsRun(tmp_path / "alone"), ReadingsRun(tmp_path / "killed")
    shed = 0.0
    for batch in range(N_BATCHES):
        if batch in (2, 4, 5, 9, 13, 18):
            run.kill()
            run = ReadingsRun(tmp_path / "killed", continues=True)
        told = alone.step()
        assert run.step() == told, batch
        shed = told["shed_total"] or 0.0
    assert shed > 20
    assert run.decisions == alone.decisions
    assert answers(tmp_path / "killed") == answers(tmp_path / "alone") != Counter()
    run.close()
    alone.close()


class ShortRun(ShedRun):
    """Two windows that share the memory of the run."""

    def step(self) -> dict[str, float | None]:
        if self.batch_id == 1:
            self.ask("knob", {"knob": "state_form", "value": self.form, "scope": UNIT})
        if self.batch_id in POOLS:
            self.ask("knob", {"knob": "run_pool_bytes", "value": POOLS[self.batch_id]})
        for n, text in enumerate(SHORT if not self.batch_id else ()):
            self.ask("query_add", {"name": f"shed{n}", "text": text, "system": "cals"})
        numbers = range(60 * self.batch_id, 60 * self.batch_id + 60)
        self.batch([{"a": n * n // 3 % 4, "b": n, "c": "x", "d": n + 1 + n % 3} for n in numbers])
        values = self.reader.values(RUN_ID)
        windows = sorted(e.id for e in self.reader.entities(RUN_ID) if e.role == "shed")
        names = "resident_tuples", "tuples_bytes", "audit_bytes", "limit_tuples", "shed_total"
        return {f"{name} {id}": values[id].get(name) for id in windows for name in names}


def test_windows_obey_a_pool_within_a_batch_killed_or_not(tmp_path: Path) -> None:
    """What they keep, and keep beside, never takes more than the pool; a larger one brings nothing
    back."""
    (tmp_path / "alone").mkdir()
    (tmp_path / "killed").mkdir()
    alone, run = ShortRun(tmp_path / "alone"), ShortRun(tmp_path / "killed")
    pool, used = 0, list[float]()
    for batch in range(24):
        if batch in (4, 7, 8, 13, 19):
            run.kill()
            run = ShortRun(tmp_path / "killed", continues=True)
        told = alone.step()
        assert run.step() == told, batch
        pool = POOLS.get(batch, pool)
        used.append(sum(n or 0 for name, n in told.items() if "_bytes" in name))
        assert not pool or used[-1] <= pool, batch
    assert max(used[:6]) > 20_480 / 1.1
    assert used[8] > 16_384
    assert used[12] <= used[11] + 2 * 60 * _ROW
    assert used[23] == (500 + 300) * _ROW
    run.close()
    alone.close()
