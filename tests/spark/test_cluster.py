"""A master and two workers with folders and Pythons of their own, runs recorded in PostgreSQL: the
matches are those of a local run, and a worker killed in mid-run costs nothing but time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds
import pytest

from backend.hosts.compact import sink_file
from backend.workloads.drift import q1_queries
from backend.workloads.shipped import shipped_workloads
from bench.cluster import Cluster
from storage.errors import StoreError
from storage.store import open_reader
from tests.contract import postgres

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
#: A start, a batch, the loss of a worker: so long each may take on a busy machine.
PATIENCE_S = 300
#: Tuples of a batch while workers are killed: there are many batches.
FEW = 50_000

#: The shipped queries, and two that remember: in shards, on either worker.
FLIGHTS = """
delayed = '''
Select carrier, Count(*) As n From Flights [Range 2 Hours] Where dep_delay > 60 Group By carrier'''
twins = '''
Select A.tailnum, B.dest From Flights [Rows 50] As A, Flights [Rows 50] As B
Where A.tailnum = B.tailnum And A.flight < B.flight And A.dep_delay > 90'''
"""
PACKETS = """
functions = "backend.workloads.packet_functions"
[streams.Packets]
source = { format = "packets", seed = 11, attacks = [[10_000, 30_000]], n_tuples = 60_000 }
[streams.Suspects]
source = { format = "suspects", seed = 11 }
[queries]
intrusion = '''
Select * From Packets
Where n_bytes > 200 and lookup(dest, databases) and matches(payload, '0xa9[0-9a-f]{4}c8')
  and source in (Select * From Suspects [Rows 4000])'''
"""
WIDE = """
[streams.Drift]
schema = "{schema}"
[streams.Drift.source]
format = "drift"
seed = 7
phases = [{{ distribution = "uniform", n_tuples = 60_000, selective = ["a1"] }},
          {{ distribution = "uniform", n_tuples = 60_000, selective = ["a4"] }}]
[queries]
{queries}
"""


class Place(NamedTuple):
    """Where runs are started. folder: the driver's own; store: of all runs."""

    cluster: Cluster
    folder: Path
    store: str

    @property
    def shared(self) -> Path:
        """What all machines have."""
        return self.folder / "shared"

    def start(self, workload: Path, *more: str) -> subprocess.Popen[str]:
        """A run of what is there."""
        command = [sys.executable, str(ROOT / "run.py"), "backend", str(workload)]
        command += ["--once", "--fresh", "--store", self.store, *more]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.cluster.environment, "PLANWATCH_NO_ENVIRONMENT": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start_there(self, workload: Path, *more: str) -> subprocess.Popen[str]:
        """A run on the cluster."""
        master = ("--master", self.cluster.url, "--shared", str(self.shared))
        return self.start(workload, *master, *more)

    def last_batch(self, name: str) -> int:
        """The newest one on record of the workload's run on the cluster; -1 before the first."""
        try:
            with open_reader(self.store) as reader:
                runs = [run for run in reader.runs() if run.workload == name]
                (own,) = [r for r in runs if str(r.settings["master"]).startswith("spark")]
                found = reader.last_batch(own.id)
        except (StoreError, ValueError):
            return -1
        return -1 if found is None else found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("cluster")
    driver = folder / "driver"
    driver.mkdir()
    with postgres.server() as server, Cluster(folder / "machines") as cluster:
        yield Place(cluster, driver, server.database())


@pytest.fixture
def flights(place: Place) -> Path:
    path = place.folder / "flights.toml"
    path.write_text(shipped_workloads()["flights"].read_text() + FLIGHTS)
    return path


@pytest.fixture
def wide(place: Place) -> Path:
    schema = ", ".join(f"a{n} int" for n in range(1, 21))
    queries = "\n".join(f'{name} = "{text}"' for name, text in q1_queries(seed=3, k=512).items())
    path = place.folder / "wide.toml"
    path.write_text(WIDE.format(schema=schema, queries=queries))
    return path


def test_packets(place: Place) -> None:
    path = place.folder / "packets.toml"
    path.write_text(PACKETS)
    ended(place.start(path))
    ended(place.start_there(path))
    same_results(place, "packets")
    for name in place.cluster.workers:
        home = place.folder.parent / "machines" / name
        assert list(home.glob("work/app-*/*/stderr")), f"{name} had no part in it"


def test_hundreds_of_queries(place: Place, wide: Path) -> None:
    ended(place.start(wide))
    ended(place.start_there(wide))
    same_results(place, "wide")


def test_a_worker_that_is_killed_costs_time_alone(place: Place, flights: Path) -> None:
    here = place.start(flights, "--master", "none")
    run = place.start_there(flights, "--set", f"max_batch_tuples={FEW}")
    goes_on(place, run)
    place.cluster.kill("worker-0")
    goes_on(place, run)
    place.cluster.start_worker("worker-2")
    ended(run)
    ended(here)
    same_results(place, "flights")


def goes_on(place: Place, run: subprocess.Popen[str]) -> None:
    """Wait for one batch more of the flights."""
    before, deadline = place.last_batch("flights"), time.monotonic() + PATIENCE_S
    while place.last_batch("flights") == before:
        if run.poll() is not None:
            ended(run)
            pytest.fail("it ended before its time")
        assert time.monotonic() < deadline, "it does not go on"
        time.sleep(0.1)


def ended(run: subprocess.Popen[str]) -> None:
    """Wait for its end."""
    _, said = run.communicate(timeout=2 * PATIENCE_S)
    assert run.returncode == 0, said


def same_results(place: Place, workload: str) -> None:
    """Matches and answers of the run on the cluster are those of the run on this machine."""
    here = results(place.folder / ".planwatch" / "runs", workload)
    there = results(place.shared / "runs", workload)
    assert here.keys() == there.keys()
    assert sum(sum(rows.values()) for rows in here.values()) > 100
    for folder, rows in here.items():
        assert there[folder] == rows, folder


def results(runs: Path, workload: str) -> dict[str, Counter[Any]]:
    """By stream and query the rows in the sink of a run, in any order."""
    (run,) = runs.glob(f"{workload}-*")
    return {folder.name: _rows(folder) for folder in (run / "matches").glob("*=*")}


def _rows(folder: Path) -> Counter[Any]:
    files = [str(path) for path in folder.iterdir() if sink_file(path)]
    table = ds.dataset(files, format="parquet").to_table()
    return Counter(
        tuple(tuple(sorted(v)) if isinstance(v, list) else v for v in row.values())
        for row in table.to_pylist()
    )
