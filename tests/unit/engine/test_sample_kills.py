"""A run whose windows keep samples, killed at random instants: same tuples, numbers, answers."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pyarrow.dataset as ds
import pytest

from tests.engine_runs import RUN_ID, EngineRun
from tests.systems.running import SCHEMA, tuples

TEXTS = {
    "rows": "Select c, count(*) As n, sum(a) As s, avg(b) As m From S [Rows 90] Where a < 60 "
    "Group By c",
    "range": "Select count(*) As n, avg(a) As m From S [Range 119]",
}
UNIT = "cals.network"
#: What is turned before a batch.
TURNS: dict[int, dict[str, Any]] = {
    3: {"memory_tuples": 25},
    12: {"memory_tuples": 8, "low_water": 0.5},
    16: {"memory_tuples": 60},
    20: {"memory_tuples": 0, "sample_prob": 0.5},
    26: {"sample_prob": 0.0, "state_pool_bytes": 4096},
    31: {"state_pool_bytes": 0},
}
N_BATCHES, N_KILLS, SIZE = 42, 34, 12
PUBLISHED = (
    *("resident_tuples", "shed_total", "sheddings_total", "shed_ends_total", "limit_tuples"),
    *("memory_ratio", "inclusion_prob", "expected_accuracy", "tuples_bytes"),
)
Kill = Literal["", "between", "inside"]
KINDS: tuple[Kill, ...] = ("between", "inside")


class SampleRun(EngineRun):
    def __init__(self, folder: Path, continues: bool = False) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(
            folder / "store.db",
            {"S": SCHEMA},
            {"plain": "Select a From S Where a > 90"},
            sink=folder / "out",
            continues=continues,
            state=folder / "state",
        )

    def begin(self) -> None:
        """What is asked for before the next batch."""
        for knob, value in TURNS.get(self.batch_id, {}).items():
            self.ask("knob", {"knob": knob, "value": value, "scope": UNIT})
        for name, text in TEXTS.items() if not self.batch_id else ():
            self.ask("query_add", {"name": name, "text": text, "system": "cals"})

    def numbers(self) -> dict[str, float | None]:
        """What the windows told of themselves."""
        values = self.reader.values(RUN_ID)
        windows = sorted(e.id for e in self.reader.entities(RUN_ID) if e.role == "shed")
        return {f"{name} {id}": values[id].get(name) for id in windows for name in PUBLISHED}

    def told(self) -> list[tuple[int, str]]:
        """Begins and ends, and since when answers were approximate: batch, words."""
        kept = [one.decision for one in self.reader.decisions(RUN_ID, unit=UNIT)]
        events = [one for one in self.reader.events(RUN_ID) if one.event.kind == "exactness"]
        return sorted(
            [(one.batch, one.explanation) for one in kept if one.kind == "shedding"]
            + [(one.batch, one.event.title) for one in events]
        )


def step(run: SampleRun, folder: Path, kill: Kill = "") -> SampleRun:
    """A batch, before or within which the run is killed, and goes on on another machine."""
    rows = tuples(SIZE, run.batch_id)
    if kill == "between":
        run.kill()
        run = SampleRun(folder, continues=True)
    run.begin()
    if kill == "inside":
        run.executed({"S": rows}, run.batch_id)
        run.kill()
        run = SampleRun(folder, continues=True)
    run.batch(rows)
    return run


def answers(folder: Path) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for name in TEXTS:
        table = ds.dataset(folder / "out" / f"query={name}", format="parquet").to_table()
        found.update((name, *sorted(row.items())) for row in table.to_pylist())
    return found


@pytest.mark.parametrize("seed", [28])
def test_killed_at_random_instants_it_keeps_and_answers_the_same(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    kills: dict[int, Kill] = {
        batch: rng.choice(KINDS) for batch in rng.sample(range(1, N_BATCHES), N_KILLS)
    }
    alone, run = SampleRun(tmp_path / "alone"), SampleRun(tmp_path / "killed")
    most, limit = 0.0, 0.0
    for batch in range(N_BATCHES):
        alone = step(alone, tmp_path / "alone")
        run = step(run, tmp_path / "killed", kills.get(batch, ""))
        now = alone.numbers()
        assert run.numbers() == now, batch
        limit = float(TURNS.get(batch, {}).get("memory_tuples", limit))
        kept = [n or 0.0 for name, n in now.items() if name.startswith("resident")]
        assert len(kept) == len(TEXTS)
        assert not limit or max(kept) <= limit, batch
        most = max(most, *kept)
    assert most == 120
    assert run.told() == alone.told()
    words = [words for _, words in alone.told()]
    assert "answers are approximate" in words
    assert words[-1] == "answers are exact again"
    assert answers(tmp_path / "killed") == answers(tmp_path / "alone")
    run.close()
    alone.close()
