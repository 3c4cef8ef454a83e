"""An engine that is stopped for an hour, as with a machine that sleeps, still owns its run."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from backend.launch.cli import EXIT_USAGE
from storage.store import open_reader
from tests.spark.test_backend_command import WITHOUT, backend
from tests.spark.test_faults import Live, live_backend, until

WORKLOAD = """
[streams.S]
schema = "id int"
source = { format = "csv", path = "in" }
[queries]
every = "Select * From S Where id >= 0"
[sink]
path = "out"
"""
#: Tuples of a file.
N = 500
HOUR_S = 3600


def add(folder: Path, number: int) -> None:
    """A file appears whole."""
    hidden = folder / f".{number}"
    hidden.write_text("".join(f"{k}\n" for k in range(number * N, number * N + N)))
    hidden.rename(folder / f"{number:03d}.csv")


def age(store: Path) -> bool:
    """Let the run's last sign of life be an hour old; False while somebody writes."""
    engine = create_engine(f"sqlite:///{store}", connect_args={"timeout": 0.2})
    try:
        with engine.begin() as connection:
            connection.execute(text(f"UPDATE runs SET heartbeat_at = heartbeat_at - {HOUR_S}"))
    except OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    finally:
        engine.dispose()
    return True


def stop_for_an_hour(live: Live) -> None:
    """Stop the engine where it does not write: what it holds nobody else can change."""
    os.killpg(live.process.pid, signal.SIGSTOP)
    while not age(live.store):
        os.killpg(live.process.pid, signal.SIGCONT)
        os.killpg(live.process.pid, signal.SIGSTOP)


def check_a_second_start_is_refused(live: Live, folder: Path, options: tuple[str, ...]) -> None:
    stop_for_an_hour(live)
    second = backend(str(folder / "w.toml"), "--once", "--store", str(live.store), *options)
    os.killpg(live.process.pid, signal.SIGCONT)
    assert second.returncode == EXIT_USAGE, second.stderr
    assert f"is at work in process {live.process.pid}" in second.stderr


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(WITHOUT, id="none"),
        pytest.param((), id="spark", marks=[pytest.mark.slow, pytest.mark.spark]),
    ],
)
def test_a_stopped_engine_owns_its_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    rng = random.Random(1)
    (tmp_path / "w.toml").write_text(WORKLOAD)
    folder = tmp_path / "in"
    folder.mkdir()
    add(folder, 0)
    with live_backend(tmp_path, *options) as live:
        live.wait_for(1)
        for number in range(1, 3):
            add(folder, number)
            live.wait_for(live.n_batches() + rng.randrange(2))
            check_a_second_start_is_refused(live, tmp_path, options)
        with open_reader(str(live.store)) as reader:
            run = live.run().id
            until(lambda: reader.values(run)["system"]["tuples_total"] == 3 * N)
        live.process.terminate()
        assert live.process.wait(60) == 0
        assert live.run().state == "ended"
    rows = ds.dataset(tmp_path / "out", format="parquet", partitioning="hive").to_table()
    assert sorted(rows["id"].to_pylist()) == list(range(3 * N))
