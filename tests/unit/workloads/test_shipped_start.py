"""Shipped workloads as they begin, each for a few batches: the engine takes all their streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backend.engine.knobs import KNOBS
from backend.hosts.in_process import InProcessLaunch
from backend.hosts.local import LocalHost
from backend.hosts.spark.start.launch_settings import LaunchSettings
from backend.workloads.shipped import shipped_workloads
from backend.workloads.spec import load_workload
from storage.store import open_engine_writer, open_reader

N_BATCHES, N_TUPLES = 3, 200


class BegunLaunch(InProcessLaunch):
    """So many batches of so many tuples of each stream, as fast as possible; of a stream that is
    shorter, its tuples. n_taken: of all."""

    n_taken = 0

    def _made_host(self, loop: Any) -> LocalHost:
        inputs = self._inputs_held()
        most = N_BATCHES * N_TUPLES
        known = {each.name: each.replay.n_tuples for each in inputs if each.replay is not None}
        lengths = {name: most if n is None else min(n, most) for name, n in known.items()}
        self.n_taken = sum(lengths.values())

        def cuts(batch: int) -> dict[str, int]:
            left = {name: n - batch * N_TUPLES for name, n in lengths.items()}
            return {name: min(N_TUPLES, max(0, n)) for name, n in left.items()}

        return LocalHost(loop, inputs, self._sink(loop.run.id), cuts=cuts)

    def _play(self, host: LocalHost, loop: Any) -> str:
        for _ in range(N_BATCHES):
            assert host.step()
        host.close()
        return "begun"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where data is prepared once."""
    return tmp_path_factory.mktemp("shipped")


@pytest.mark.parametrize("name", shipped_workloads())
def test_it_begins(name: str, folder: Path, tmp_path: Path) -> None:
    workload = load_workload(shipped_workloads()[name], {}, KNOBS)
    store = str(tmp_path / "s.db")
    with open_engine_writer(store) as writer:
        settings = LaunchSettings("none", folder, tmp_path / "runs", once=True)
        launch = BegunLaunch(workload, writer, settings)
        assert launch.execute()
    with open_reader(store) as reader:
        (run,) = reader.runs()
        batches, values = reader.batches(run.id), reader.values(run.id)
    assert len(batches) == N_BATCHES
    n_aside = values["system"]["misfits_total"] or 0
    assert (values["system"]["tuples_total"] or 0) + n_aside == launch.n_taken > 0
    assert n_aside < 0.02 * launch.n_taken
