"""A run of networks on two executors; see test_two_executors.py. Argument: folder."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from backend.hosts.spark.run.runner import RunHost
from backend.hosts.spark.session.session import build_session
from backend.workloads.spec import SinkSpec
from tests.contract.test_hosts_networks import SCHEMAS, inputs, network
from tests.loops import FixedLoop

#: Two executors of one core and so many megabytes each.
MASTER = "local-cluster[2,1,1024]"
BATCH = 60


def main(folder: Path) -> None:
    """Run to the end; then print how shards came to their state, and the tasks of each executor."""
    session = build_session(MASTER, "two executors", folder / "spark")
    try:
        job = network(2)
        turned = {(name, "max_batch_tuples"): BATCH for name in SCHEMAS}
        loop = FixedLoop({}, turned, networks=lambda batch_id: {"stream": job})
        sink = SinkSpec(str(folder / "out"))
        RunHost(session, loop, inputs(), sink, folder / "run", True).run()
        attached: Counter[str] = Counter()
        for result in loop.results:
            attached.update(result.units["stream"].report.attached)
        store = session.sparkContext._jsc.sc().statusStore()
        executors = store.executorList(True)
        tasks = {
            str(executors.apply(n).id()): int(executors.apply(n).totalTasks())
            for n in range(executors.size())
        }
        (folder / "told.json").write_text(json.dumps({"attached": attached, "tasks": tasks}))
    finally:
        session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
