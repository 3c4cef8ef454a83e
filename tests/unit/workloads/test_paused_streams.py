"""A replayed stream that is paused: nobody waits for its tuples."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from backend.workloads.replay import Feeder, read_spooled
from tests.unit.workloads.feeding import numbers, wait


@pytest.mark.parametrize("rate", [0.0, 2000.0])
def test_while_a_stream_rests_its_tuples_go_by_at_their_rate(tmp_path: Path, rate: float) -> None:
    rests = threading.Event()
    feeder = Feeder(
        numbers(1_000_000),
        tmp_path,
        lambda: rate,
        lambda: "stop",
        ahead_tuples=100,
        tick_s=0.005,
        marks_end=lambda: True,
        rests=rests.is_set,
    )
    rests.set()
    feeder.start()
    try:
        wait(lambda: [path.suffix for path in tmp_path.iterdir()] == [".end"])
        if rate:
            wait(lambda: feeder.published > 200)
        assert feeder.backlog == 0
        assert feeder.published == 0 or rate
        rests.clear()
        wait(lambda: any(tmp_path.glob("[0-9]*.ipc")))
        first = min(tmp_path.glob("[0-9]*.ipc"))
        assert int(first.stem) > 200 or not rate
        assert read_spooled(first).column("id")[0].as_py() == int(first.stem)
        rests.set()
        n_told = max(
            int(path.stem) + len(read_spooled(path)) for path in tmp_path.glob("[0-9]*.ipc")
        )
        if rate:
            wait(lambda: feeder.published > n_told)
        feeder.consumed_to(n_told)
        assert feeder.backlog <= 100
        wait(lambda: len(list(tmp_path.glob("*.end"))) == 1)
    finally:
        feeder.stop()
    assert feeder.error is None
