"""A run that kills its own process where it is told to; see test_run_host.py.

Arguments: folder, what to be killed at (a name of BatchLoop and a batch id), or nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa

from backend.hosts.contract import InputSource
from backend.hosts.spark.run.runner import RunHost
from backend.hosts.spark.session.session import build_session
from backend.operators.contract import BatchPlan, BatchResult
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.contract.test_hosts import PARTS, parsed, selection
from tests.loops import FixedLoop

N_TUPLES, BATCH = 900, 25


class Killed(FixedLoop):
    """Ends the process by SIGKILL, as a crash would; notes what was told before."""

    def __init__(self, folder: Path, method: str, batch_id: int) -> None:
        kind = parsed("kind", "Select * From Parts Where kind = 'x'")
        unit = selection([kind], PARTS)
        super().__init__({"Parts": {"asc:Parts": unit}})
        self._told = folder / "told.jsonl"
        self._at = (method, batch_id)

    def begin_batch(self, batch_id: int) -> BatchPlan:
        self._perhaps("begin_batch", batch_id)
        return super().begin_batch(batch_id)

    def end_batch(self, result: BatchResult) -> None:
        self._perhaps("end_batch", result.batch_id)
        found = result.inputs["Parts"]
        with self._told.open("a") as lines:
            line = [result.batch_id, found.n_tuples, found.n_matched]
            lines.write(json.dumps(line) + "\n")
        super().end_batch(result)
        self._perhaps("recorded", result.batch_id)

    def _perhaps(self, method: str, batch_id: int) -> None:
        if self._at[0] == method and batch_id >= self._at[1]:
            os.kill(os.getpid(), signal.SIGKILL)


class Gated(MemorySource):
    """Gives the tuples of a batch when the batch before was told."""

    told: Path

    def slice(self, start: int, count: int) -> pa.Table:
        while start >= BATCH * (1 + self._n_told()):
            time.sleep(0.01)
        return super().slice(start, min(count, BATCH))

    def _n_told(self) -> int:
        lines = self.told.read_text().splitlines()
        return max((1 + json.loads(line)[0] for line in lines), default=0)


def main(folder: Path, method: str = "", batch_id: str = "0") -> None:
    """Run, until the end or a crash."""
    session = build_session("local[2]", "killed", folder / "spark", is_quick=True)
    loop = Killed(folder, method, int(batch_id))
    rows = [[k, "x" if k % 2 else "y"] for k in range(N_TUPLES)]
    stream = StreamSpec("Parts", PARTS, SourceSpec("memory"))
    replayed = Gated(rows, PARTS)
    replayed.told = folder / "told.jsonl"
    replayed.told.touch()
    inputs = [InputSource(stream, replayed)]
    print(
        RunHost(session, loop, inputs, SinkSpec(str(folder / "out")), folder / "run", False).run()
    )
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
