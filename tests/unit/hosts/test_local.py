"""The host in this process while a batch runs."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.hosts import networks
from backend.hosts.contract import InputSource
from backend.hosts.local import BEAT_S, LocalHost
from backend.model.functions import Functions
from backend.model.ids import entity_id
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.systems.stream.compiling import compile_queries
from backend.workloads import file_source
from backend.workloads.sources import MemorySource, open_source
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from storage.store import open_engine_writer, open_reader
from storage.vocabulary.records import Input, Run
from tests.engine_runs import read_all
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


def test_a_watched_folder_that_is_quiet_makes_no_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "LOOK_S", 0.0)
    stream = StreamSpec("S", S, SourceSpec("csv", {"path": str(tmp_path)}))
    loop, source = FixedLoop({}), open_source(stream, tmp_path, None, False)
    host = LocalHost(loop, [InputSource(stream, source)], SinkSpec(None), 5)
    thread = threading.Thread(target=host.run)
    thread.start()
    try:
        for n, begun in ((0, []), (12, [0, 1, 2]), (19, [0, 1, 2, 3, 4])):
            (tmp_path / f"{n}.csv").write_text("1\n" * (n - loop.total("S", "n_tuples")))
            os.utime(tmp_path / f"{n}.csv", (0, 0))
            await_idle(loop, n)
            assert loop.begun == begun
    finally:
        host.stopping.set()
        thread.join(timeout=60)


def await_idle(loop: FixedLoop, n_tuples: int, input: str = "S") -> None:
    """Wait until so many tuples were taken, and for what comes then."""
    deadline = time.monotonic() + 60
    while loop.total(input, "n_tuples") < n_tuples:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = loop.n_idle
    while loop.n_idle < before + 10:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_stream_that_is_ahead_in_time_waits_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "AHEAD_OF_OTHERS", 300)
    schemas = dict.fromkeys(("Dense", "Sparse"), Schema.parse("t bigint, a int"))
    # as many of both, but those of Sparse are further apart: it is ahead after each batch
    sources = {
        name: MemorySource([[step * n, n % 7] for n in range(4000)], schemas[name])
        for name, step in {"Dense": 1, "Sparse": 20}.items()
    }
    inputs = [
        InputSource(StreamSpec(name, schema, SourceSpec("memory"), "t"), sources[name])
        for name, schema in schemas.items()
    ]
    text = "Select D.a From Dense [Range 5] As D, Sparse [Range 5] As S Where D.a = S.a"
    job = RunJob(
        {name: InputJob(name, schema, "t", rate=0.0) for name, schema in schemas.items()},
        read_all({"both": text}, schemas, Functions(), {}),
    )
    told = tuple(Input(n, [[a.name, a.type] for a in s.attributes]) for n, s in schemas.items())
    run = Run("r", "w", "starting", time.time(), {}, 1, "here", "0", inputs=told)
    with open_engine_writer(str(tmp_path / "store.db")) as writer:
        loop = Loop(run, job, writer)
        loop.start()
        host = LocalHost(loop, inputs, SinkSpec(None), 200, once=True)
        pending = []
        while host.step():
            values = stored_values(str(tmp_path / "store.db"))
            pending.append(values[entity_id("stream.network", "input", "Sparse")]["pending_tuples"])
        host.close()
    assert len(pending) > 20
    assert max(filter(None, pending)) <= 300 + 200


def test_a_stream_that_may_be_no_further_ahead_of_a_quiet_one_makes_no_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits until the other one speaks, or until what reads both is changed."""
    monkeypatch.setattr(networks, "AHEAD_OF_OTHERS", 300)
    monkeypatch.setattr(file_source, "LOOK_S", 0.0)
    schema = Schema.parse("t bigint, a int")
    quiet = StreamSpec("Quiet", schema, SourceSpec("csv", {"path": str(tmp_path)}), "t")
    dense = StreamSpec("Dense", schema, SourceSpec("memory"), "t")
    inputs = [
        InputSource(dense, MemorySource([[n, n % 7] for n in range(1000)], schema)),
        InputSource(quiet, open_source(quiet, tmp_path, None, False)),
    ]
    text = "Select D.a From Dense [Range 5] As D, Quiet [Range 5] As Q Where D.a = Q.a"
    queries = read_all({"both": text}, {"Dense": schema, "Quiet": schema}, Functions(), {})
    plan = compile_queries(queries, since={"both": 0}, tick_us=1_000_000)
    times = {name: StreamTime("t") for name in ("Dense", "Quiet")}
    network = NetworkJob(plan, dict.fromkeys(times, schema), times)
    loop = FixedLoop({}, networks=lambda batch_id: {"u": network})
    host = LocalHost(loop, inputs, SinkSpec(None), 100)
    thread = threading.Thread(target=host.run)
    thread.start()
    try:
        await_idle(loop, 300, "Dense")
        n_begun = len(loop.begun)
        await_idle(loop, 300, "Dense")
        assert len(loop.begun) == n_begun
        loop.is_changed = True
        await_idle(loop, 300, "Dense")
        assert len(loop.begun) == n_begun + 1
        (tmp_path / "1.csv").write_text("800,1\n")
        os.utime(tmp_path / "1.csv", (0, 0))
        deadline = time.monotonic() + 60
        while loop.total("Dense", "n_tuples") < 1000:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert loop.total("Dense", "n_misfits") == 0
    finally:
        host.stopping.set()
        thread.join(timeout=60)


def stored_values(store: str) -> Any:
    with open_reader(store) as reader:
        return reader.values("r")
