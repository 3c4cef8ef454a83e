"""Answers over SysStream are in the sink like others, and survive kills with their windows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.engine_runs import RUN_ID
from tests.unit.engine.test_networks import Run, answered, relation_at

MORE = {
    "heard": "Select count(*) As n From SysStream [Rows Unbounded] Where prop = 'n_tuples'",
    "each": "Select eid, count(*) As n From SysStream [Rows Unbounded] "
    "Where prop = 'n_tuples' or prop = 'batch_ms' Group By eid",
}


def now(folder: Path, query: str) -> list[dict[str, Any]]:
    """The relation that the sink's files come to; no tuple goes that was not there."""
    return relation_at(answered(folder, query), 1 << 60)


def batches(runs: Sequence[Run], first: int, last: int) -> None:
    """One a second: τ is the engine's time."""
    for n in range(first, last):
        for run in runs:
            run.seconds(10 * n, 10 * (n + 1))
        time.sleep(1.01)


def test_answers_over_sysstream_are_in_the_sink_for_any_number_of_shards(tmp_path: Path) -> None:
    folders = [tmp_path / str(shards) for shards in (1, 2)]
    for folder in folders:
        folder.mkdir()
    runs = [Run(f, more=MORE, knobs={"shards": n}) for n, f in enumerate(folders, 1)]
    batches(runs, 0, 4)
    for run, folder in zip(runs, folders, strict=True):
        run.close()
        # the newest comes with the next batch, and the one before waits for time to go on
        assert now(folder, "heard") == [{"n": 2}]
        assert now(folder, "each") == [{"eid": "system", "n": 4}]


def test_windows_over_sysstream_survive_a_kill(tmp_path: Path) -> None:
    run = Run(tmp_path, more=MORE, state=tmp_path / "run")
    batches([run], 0, 3)
    run.kill()
    again = Run(tmp_path, more=MORE, state=tmp_path / "run", continues=True)
    batches([again], 3, 6)
    again.close()
    # of the batches 0 to 5 the third, the last before the kill, is never told, as above 4 and 5 yet
    assert now(tmp_path, "heard") == [{"n": 3}]
    assert all(row["sign"] in (1, -1) for row in answered(tmp_path, "heard"))


def test_the_plan_log_is_a_stream(tmp_path: Path) -> None:
    counted = "Select unit, count(*) As n, sum(switched) As s From SysPlanLog [Rows Unbounded] "
    run = Run(tmp_path, more={"evaluated": f"{counted} Group By unit"})
    batches([run], 0, 4)
    looks = [look for look in run.reader.looks(RUN_ID) if look.batch < 2]
    units = {unit.id for unit in run.reader.units(RUN_ID)}
    run.close()
    # the newest comes with the next batch, and the one before waits for time to go on
    (row,) = now(tmp_path, "evaluated")
    switched = sum(look.record["chosen"] != look.record["plan"] for look in looks)
    assert row == {"unit": "stream.network", "n": len(looks), "s": switched}
    assert "stream.sysplanlog" in units
