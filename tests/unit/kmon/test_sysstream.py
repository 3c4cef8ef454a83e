"""CQL over SysStream follows the k of constraints."""

from __future__ import annotations

import time
from pathlib import Path

from tests.unit.engine.test_networks import answered, relation_at
from tests.web.kmon_run import KMonRun

K = "Select eid, val From SysStream [Rows Unbounded] Where prop = 'k_used_tuples' and val > 1"


def test_a_query_reads_the_k_in_use(tmp_path: Path) -> None:
    run = KMonRun(
        tmp_path / "run.db", "kmon", {"k": K}, tmp_path / "out", pinned_constraints="RIDS C → B"
    )
    for _ in range(4):
        run.seconds()
        time.sleep(1.01)  # τ is the engine's time
    (id,) = (one.id for one in run.reader.entities("kmon") if one.name == "RIDS C → B")
    recorded = run.reader.many_series("kmon", [(id, "k_used_tuples")])[id, "k_used_tuples"]
    run.close()
    read = [row["val"] for row in relation_at(answered(tmp_path, "k"), 1 << 60) if row["eid"] == id]
    assert read
    assert read == recorded.value[: len(read)].tolist()
