"""Eddies killed at random instants, while partitions migrate, too: they go on as if left alone.

A process runs batch after batch as an engine would: what the eddy decides from one batch to the
next is committed with the batch. It gets kill -9 again and again; the next one takes up what was
committed, and the state of the last commit from its arena or from the redo log.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from backend.cql import parse_query
from backend.hosts.publish import FolderSink
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.contract import UnitResult
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.expressions.arrow import answer_schema
from backend.operators.network.shards import homes
from backend.operators.network.shards.answers import answer_fields
from backend.operators.network.shards.homes import MemoryShard, ShardHome
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.timed import Arrived
from backend.systems.amri.core import AmriCore
from backend.systems.contract import BatchRan, SystemUnit, UnitJob
from backend.systems.registry import AMRI as SYSTEM
from storage.vocabulary.names import answer_folder
from tests.unit.amri.running_eddies import core_of
from tests.unit.network.test_shard_kills import answers

N_BATCHES: Final = 40
#: Tuples of each stream in a batch, and in its window.
N_TUPLES, WINDOW = 50, 60
#: Columns are named by the streams that they join.
STREAMS: Final = {"A": "ab int, ac int, ad int", "B": "ab int, bc int, bd int"} | {
    "C": "ac int, bc int, cd int",
    "D": "ad int, bd int, cd int",
}
SCHEMAS: Final = {name: Schema.parse(text) for name, text in STREAMS.items()}
PAIRS: Final = ("ab", "ac", "ad", "bc", "bd", "cd")
TEXT: Final = (
    f"Select A.ab, A.ac, A.ad, B.bc From {', '.join(f'{s} [Rows {WINDOW}]' for s in STREAMS)} "
    f"Where {' and '.join('{0}.{2} = {1}.{2}'.format(*pair.upper(), pair) for pair in PAIRS)}"
)
SOON: Final = {
    "router": "greedy",
    "period_requests": 700,
    "trigger_requests": 1100,
    "partition_tuples": 16,
    "index_bits": 6,
    "selection": "window",
    "min_gain": 0.0,
}
#: All that migrates does so in one batch, so that what is decided next does not depend on time.
AT_ONCE: Final = {"migration": "all", "migration_us": 10_000_000}
#: What migrates takes several batches.
SPREAD: Final = {"migration": "all", "migration_us": 1}
MIXED: Final = {"access": "portfolio", **AT_ONCE}
HomeOf = Callable[[], ShardHome]


def arrived(batch: int) -> dict[str, list[Arrived]]:
    """Domains change every seventh batch; every third tuple tells of something all streams do."""
    domains = np.random.default_rng(batch // 7).integers(3, 30, len(PAIRS))
    found = {}
    for place, (name, schema) in enumerate(SCHEMAS.items()):
        rng = np.random.default_rng([batch, place])
        about = rng.integers(0, 20, N_TUPLES)
        columns = {}
        for column in schema.names:
            domain = domains[PAIRS.index(column)]
            drawn = rng.integers(0, domain, N_TUPLES)
            told = about * 7 % domain
            columns[column] = pa.array(np.where(about % 3 > 0, drawn, told), pa.int32())
        numbers = np.arange(batch * N_TUPLES, (batch + 1) * N_TUPLES)
        found[name] = [Arrived(pa.table(columns), numbers)]
    return found


class Running(NamedTuple):
    """A unit and its eddy's core."""

    unit: SystemUnit
    core: AmriCore

    @classmethod
    def of(cls, knobs: dict[str, object], known: list[Any]) -> Running:
        """known: what was committed, [] at first."""
        settings = KnobSettings.defaults(SYSTEM.knobs, SOON | knobs)
        queries = (parse_query("q", TEXT, SCHEMAS),)
        times = dict.fromkeys(SCHEMAS, StreamTime(None))
        job = UnitJob("u", tuple(SCHEMAS), SCHEMAS, queries, times=times)
        unit = SYSTEM.unit(job, settings)
        unit.start(None)
        core = core_of(unit)
        for eddy, of in zip(core.values(), known, strict=False):
            eddy.restore(of)
        return cls(unit, core)

    def run(self, batch: int, places: Places, sink: Path, home_of: HomeOf) -> list[str]:
        """As a host does; how the state was taken up."""
        job = self.unit.operator(batch)
        assert isinstance(job, NetworkJob)
        version = places.log_of("u").keep_job(job)
        ended = frozenset(SCHEMAS if batch == N_BATCHES - 1 else ())
        task = NetworkTask("u", batch, job, version, frozenset(), str(sink), "parquet")
        told = run_shard(task, 0, home_of(), arrived(batch), ended)
        schema = answer_schema(answer_fields(job.plan, "q"))
        FolderSink(f"{sink}/{answer_folder('q', 0)}", "parquet", schema).publish(
            batch, told.parts.get("q", ())
        )
        result = UnitResult(told.n_tuples, 0, {}, told.network)
        self.unit.executed(BatchRan(batch, result, 1000.0 * batch))
        return list(told.network.attached)

    @property
    def known(self) -> list[Any]:
        """What is committed."""
        return list(json.loads(json.dumps(self.core.state()["amri"])).values())


def drive(folder: Path, knobs: dict[str, object], incarnation: int) -> None:
    """Run what is left of the batches."""
    commit = json.loads((folder / "commit").read_text())
    batch = commit["batch"] + 1
    running = Running.of(knobs, commit["known"])
    places = Places(str(folder / "state"), str(folder / f"local-{incarnation}"))
    while batch < N_BATCHES:
        how = running.run(batch, places, folder, lambda: places.shard("u", 0, 1))
        with (folder / "_how").open("a") as log:
            log.write("".join(f"{one}\n" for one in how))
        commit = {"batch": batch, "known": running.known}
        (folder / "_commit").write_text(json.dumps(commit))
        (folder / "_commit").replace(folder / "commit")
        batch += 1


class Undisturbed(NamedTuple):
    """A run in memory that was never killed. n_moving: batches after which partitions had yet to
    migrate."""

    answers: Counter[tuple[object, ...]]
    known: list[Any]
    bits: set[tuple[int, ...]]
    n_moving: int


def undisturbed(folder: Path, knobs: dict[str, object]) -> Undisturbed:
    (folder / "state").mkdir(parents=True)
    places = Places(str(folder / "state"), "")
    home = MemoryShard(lambda version: places.log_of("u").job(version))
    running = Running.of(knobs, [])
    (eddy,) = running.core.values()
    seen, n_moving = set(), 0
    for batch in range(N_BATCHES):
        running.run(batch, places, folder, lambda: home)
        seen |= {state.bits for state in eddy.states}
        n_moving += any(state.migrating for state in eddy.states)
    return Undisturbed(answers(folder), running.known, seen, n_moving)


def kill(folder: Path, knobs: dict[str, object], seed: int, kills: int) -> list[Any]:
    """Run it with so many kills; what was committed last."""
    rng, incarnation = random.Random(seed), 0
    folder.mkdir()
    (folder / "commit").write_text(json.dumps({"batch": -1, "known": []}))
    for n_killed in range(kills + 1):
        child = os.fork()
        if child == 0:
            try:
                drive(folder, knobs, incarnation)
            except BaseException as error:
                print("child:", repr(error), flush=True)
                os._exit(1)
            os._exit(0)
        if n_killed < kills:
            _wait(folder, child)
            time.sleep(rng.random() * 0.03)
            os.kill(child, signal.SIGKILL)
            incarnation += rng.random() < 0.4
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert status == 0
            break
    assert n_killed >= kills // 2
    committed = json.loads((folder / "commit").read_text())
    assert committed["batch"] == N_BATCHES - 1
    return list(committed["known"])


def _wait(folder: Path, child: int) -> None:
    """Until it has committed a batch, or has ended, which is waited for later."""
    started = (folder / "commit").read_text()
    while (folder / "commit").read_text() == started:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.0005)


def asked(known: list[Any]) -> list[Any]:
    """Of what is committed, what does not depend on how fast partitions migrate."""
    (eddy,) = known
    requests = [[row[:3] for row in state["counts"][1]] for state in eddy["states"]]
    assessors = [state["assessor"] for state in eddy["states"]]
    names = ("orders", "fan_outs", "number", "schedule")
    return [*(eddy[name] for name in names), assessors, requests]


def check(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, kills: int, **of: Any) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 5)
    alone = undisturbed(folder / "alone", of)
    assert sum(alone.answers.values()) > 1000
    assert len(alone.bits) > 4
    known = kill(folder / "killed", of, seed, kills)
    assert answers(folder / "killed") == alone.answers
    assert asked(known) == asked(alone.known)
    if of == SPREAD:
        assert alone.n_moving > N_BATCHES // 4
    else:
        assert known == alone.known
    hows = Counter((folder / "killed" / "_how").read_text().split("\n"))
    assert hows["rebuilt"] > kills // 8
    assert hows["arena"] >= 5


@pytest.mark.parametrize("knobs", [AT_ONCE, SPREAD, MIXED], ids=["at once", "spread", "mixed"])
def test_kills_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knobs: dict[str, object]
) -> None:
    check(tmp_path, monkeypatch, 7, 15, **knobs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("knobs", [AT_ONCE, SPREAD, MIXED], ids=["at once", "spread", "mixed"])
def test_more_kills_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, knobs: dict[str, object]
) -> None:
    check(tmp_path, monkeypatch, seed, 30, **knobs)
