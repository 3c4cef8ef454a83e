"""Units killed at random instants: they go on as if left alone.

A process runs batch after batch as an engine would: what a unit's core decides from one batch to
the next is committed with the batch. It gets kill -9 again and again; the next one takes up what
was committed, and the state of the last commit from its arena or from the redo log.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from backend.cql import parse_query
from backend.hosts.publish import FolderSink
from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.contract import UnitResult
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.expressions.arrow import answer_schema
from backend.operators.network.shards.answers import answer_fields
from backend.operators.network.shards.homes import MemoryShard, ShardHome
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.timed import Arrived
from backend.systems.contract import BatchRan, System, SystemUnit, UnitJob
from storage.vocabulary.names import answer_folder
from tests.unit.network.test_shard_kills import answers

HomeOf: TypeAlias = Callable[[], ShardHome]
_QUERY = "q"
_NUMBERED = StreamTime(None)


@dataclass(frozen=True)
class KilledUnit:
    """A unit with one query. arrived: by batch. kept: what of a unit is committed, as JSON;
    restore: takes it up. time: of all its streams."""

    system: System
    text: str
    schemas: Mapping[str, Schema]
    knobs: Mapping[str, object]
    arrived: Callable[[int], Mapping[str, Sequence[Arrived]]]
    kept: Callable[[SystemUnit], Any]
    restore: Callable[[SystemUnit, Any], None]
    n_batches: int
    time: StreamTime = _NUMBERED

    def unit(self, known: Any) -> SystemUnit:
        """known: what was committed, None at first."""
        settings = KnobSettings.defaults(self.system.knobs, self.knobs)
        query: ContinuousQuery = parse_query(_QUERY, self.text, self.schemas)
        times = dict.fromkeys(self.schemas, self.time)
        unit = self.system.unit(
            UnitJob("u", tuple(self.schemas), self.schemas, (query,), times=times), settings
        )
        unit.start(None)
        if known is not None:
            self.restore(unit, known)
        return unit

    def run(
        self, unit: SystemUnit, batch: int, places: Places, sink: Path, home_of: HomeOf
    ) -> list[str]:
        """As a host does; how the state was taken up."""
        job = unit.operator(batch)
        assert isinstance(job, NetworkJob)
        version = places.log_of("u").keep_job(job)
        ended = frozenset(self.schemas if batch == self.n_batches - 1 else ())
        task = NetworkTask("u", batch, job, version, frozenset(), str(sink), "parquet")
        told = run_shard(task, 0, home_of(), self.arrived(batch), ended)
        schema = answer_schema(answer_fields(job.plan, _QUERY))
        FolderSink(f"{sink}/{answer_folder(_QUERY, 0)}", "parquet", schema).publish(
            batch, told.parts.get(_QUERY, ())
        )
        result = UnitResult(told.n_tuples, 0, {}, told.network)
        unit.executed(BatchRan(batch, result, 1000.0 * batch))
        return list(told.network.attached)

    def alone(
        self, folder: Path, watch: Callable[[SystemUnit], None]
    ) -> tuple[Counter[tuple[object, ...]], Any]:
        """Its answers in memory, never killed; and what it commits at last. watch: told of the unit
        after each batch."""
        (folder / "state").mkdir(parents=True)
        places = Places(str(folder / "state"), "")
        home = MemoryShard(lambda version: places.log_of("u").job(version))
        unit = self.unit(None)
        for batch in range(self.n_batches):
            self.run(unit, batch, places, folder, lambda: home)
            watch(unit)
        return answers(folder), self._known(unit)

    def _known(self, unit: SystemUnit) -> Any:
        return json.loads(json.dumps(self.kept(unit)))

    def _drive(self, folder: Path, incarnation: int) -> None:
        """Run what is left of the batches."""
        commit = json.loads((folder / "commit").read_text())
        unit = self.unit(commit["known"])
        places = Places(str(folder / "state"), str(folder / f"local-{incarnation}"))
        for batch in range(commit["batch"] + 1, self.n_batches):
            how = self.run(unit, batch, places, folder, lambda: places.shard("u", 0, 1))
            with (folder / "_how").open("a") as log:
                log.write("".join(f"{way}\n" for way in how))
            commit = {"batch": batch, "known": self._known(unit)}
            (folder / "_commit").write_text(json.dumps(commit))
            (folder / "_commit").replace(folder / "commit")

    def killed(self, folder: Path, seed: int, kills: int) -> Any:
        """Run it with so many kills; what was committed last."""
        rng, incarnation = random.Random(seed), 0
        folder.mkdir()
        (folder / "commit").write_text(json.dumps({"batch": -1, "known": None}))
        for n_killed in range(kills + 1):
            child = os.fork()
            if child == 0:
                self._be_child(folder, incarnation)
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
        assert committed["batch"] == self.n_batches - 1
        hows = Counter((folder / "_how").read_text().split("\n"))
        assert hows["rebuilt"] > kills // 8
        assert hows["arena"] >= 5
        return committed["known"]

    def _be_child(self, folder: Path, incarnation: int) -> None:
        try:
            self._drive(folder, incarnation)
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)


def _wait(folder: Path, child: int) -> None:
    """Until it has committed a batch, or has ended, which is waited for later."""
    started = (folder / "commit").read_text()
    while (folder / "commit").read_text() == started:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.0005)
