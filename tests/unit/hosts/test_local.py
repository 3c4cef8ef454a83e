"""The host in this process while a batch runs."""

from __future__ import annotations

import time

from backend.hosts.contract import InputSource
from backend.hosts.local import BEAT_S, LocalHost
from backend.model.schema import Schema
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop

S = Schema.parse("a int")


class SlowLoop(FixedLoop):
    """Takes its time to end a batch. n_within: signs of life meanwhile."""

    n_within = 0

    def end_batch(self, *args: object) -> None:
        before = self.n_between
        time.sleep(4 * BEAT_S)
        self.n_within += self.n_between - before
        self._in_batch = False


def test_signs_of_life_go_on_while_a_batch_runs() -> None:
    source = MemorySource([[a] for a in range(5)], S)
    input = InputSource(StreamSpec("S", S, SourceSpec("memory", {})), source, 0)
    loop = SlowLoop({})
    LocalHost(loop, [input], SinkSpec(None), 5).run()
    assert loop.n_within >= 2
    steps = ["the batch is planned", "its job runs", "results are written"]
    assert [name for name, _ in loop.phases] == [*steps, "waits for input"]
