"""Networks with their state in shards on two executors answer as in one process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from backend.hosts.contract import BatchLoop, InputSource
from backend.hosts.local import LocalHost
from backend.workloads.spec import SinkSpec
from tests.contract.test_hosts_networks import answers, network, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_shards_on_two_executors(tmp_path: Path) -> None:
    def here(loop: BatchLoop, given: list[InputSource], sink: SinkSpec, n: int) -> LocalHost:
        return LocalHost(loop, given, sink, n, once=True)

    run(here, tmp_path / "here", network(1), 10_000)
    command = [sys.executable, "-m", "tests.spark.cluster_run", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=380)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert answers(tmp_path / "out") == answers(tmp_path / "here")
    told = json.loads((tmp_path / "told.json").read_text())
    busy = {executor: n for executor, n in told["tasks"].items() if executor != "driver" and n}
    assert len(busy) == 2, told
    assert told["attached"]["new"] == 2
    assert sum(told["attached"].values()) >= 2 * 8
