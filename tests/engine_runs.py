"""Runs of the engine in this process, batch by batch, with a real store and both ends of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.engine.resume import QUERIES, goes_on
from backend.hosts.batches import Batches, Timings, batch_result
from backend.hosts.contract import InputSource
from backend.hosts.networks import Gathered
from backend.model.conditions import ContinuousQuery
from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators.contract import BatchResult
from backend.operators.network.shards.homes import MemoryShard, ShardHome
from backend.operators.network.shards.shard import NetworkTask, Places
from backend.operators.task import BatchTask
from backend.systems.contract import System
from backend.systems.registry import SYSTEMS
from backend.workloads.contract import fit_rows
from backend.workloads.queries import read_query
from backend.workloads.relations import SlidingRelation
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from backend.workloads.stored import StoredRelation
from storage.reading.resume import LastState, last_state
from storage.store import open_command_writer, open_engine_writer, open_reader
from storage.vocabulary.records import Command, Input, Run

Rows = Sequence[Mapping[str, Any]]
RUN_ID = "test-run"
WORKLOAD = "test"
#: Knobs that let selections decide from the first hundred tuples on, by thresholds.
QUICK: Mapping[str, object] = {
    "policy": "thresholds",
    "lambda_tuples": 200,
    "tau_tuples": 200,
    "profile_prob": 1.0,
    "min_samples": 50,
    "cooldown_tuples": 0,
    "no_drop_visit_cost": 1.0,
}


class EngineRun:
    """A run over streams of rows given batch by batch. sink: folder of results, or None.

    continues: take up what the newest run in the store left. systems, stored, learned: as in
    RunJob. timestamps: stream -> the attribute with its time. state: the folder of networks' state;
    None: it is in this process.
    """

    #: As of SinkSpec.
    accuracy = False

    def __init__(
        self,
        path: Path,
        schemas: Mapping[str, Schema],
        texts: Mapping[str, str],
        knobs: Mapping[str, object] | None = None,
        functions: Functions | None = None,
        sink: Path | None = None,
        continues: bool = False,
        relations: Mapping[Any, SlidingRelation] | None = None,
        run_id: str = RUN_ID,
        systems: tuple[System, ...] = SYSTEMS,
        timestamps: Mapping[str, str] | None = None,
        stored: Mapping[str, StoredRelation] | None = None,
        in_process: bool = False,
        state: Path | None = None,
        learned: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.path, self.schemas, self.run_id = str(path), dict(schemas), run_id
        functions, stored = functions or Functions(), stored or {}
        self.job = RunJob(
            {n: _input(n, schema, timestamps or {}) for n, schema in schemas.items()},
            read_all(texts, self.schemas, functions, stored),
            knobs={**QUICK, **(knobs or {})},
            functions=functions,
            relations=relations or {},
            systems=systems,
            stored=stored,
            in_process=in_process,
            learned=learned or {},
        )
        last = self._last(continues)
        self.loop = self._begun(list(texts), last)
        told = SinkSpec(None if sink is None else str(sink), accuracy=self.accuracy)
        self._batches = batches(self.schemas, told, state)
        self.loop.listens(self._batches.listener)
        self._shards, self._rounds = dict[tuple[str, int], MemoryShard](), dict[str, int]()
        self._ended, self._failed = tuple[str, ...](), dict[str, str]()
        self.commands, self.reader = open_command_writer(self.path), open_reader(self.path)
        self.batch_id = 0 if last is None or last.last_batch is None else last.last_batch + 1

    def _last(self, continues: bool) -> LastState | None:
        self.writer = open_engine_writer(self.path)
        return last_state(self.writer, WORKLOAD) if continues else None

    def _begun(self, names: list[str], last: LastState | None) -> Loop:
        now = None if last is None else goes_on(last, self.job)
        registry = None if now is None else now.registry
        loop = Loop(self._record(names), self.job, self.writer, last, registry)
        loop.start(None if now is None else now.kept)
        return loop

    def _record(self, names: list[str]) -> Run:
        return Run(
            id=self.run_id,
            workload=WORKLOAD,
            state="starting",
            started_at=time.time(),
            settings={QUERIES: names},
            pid=1,
            host="here",
            version="0",
            inputs=tuple(
                Input(name, [[a.name, a.type] for a in schema.attributes])
                for name, schema in self.schemas.items()
            ),
        )

    def batch(
        self,
        rows: Mapping[str, Rows] | Rows,
        batch_id: int | None = None,
        ended: Sequence[str] = (),
        failed: Mapping[str, str] | None = None,
        rounds: Mapping[str, int] | None = None,
    ) -> BatchResult:
        """Run one batch: rows by stream, or of the only stream. ended, failed: streams that give no
        more tuples, and why. rounds: how often streams began anew so far."""
        by_stream = rows if isinstance(rows, Mapping) else {next(iter(self.schemas)): rows}
        number = self.batch_id if batch_id is None else batch_id
        self._ended, self._failed = tuple(ended), dict(failed or {})
        self._rounds = dict(rounds or {})
        result = self.executed(by_stream, number)
        self.loop.end_batch(result)
        self.batch_id = number + 1
        return result

    def executed(self, rows: Mapping[str, Rows], batch_id: int) -> BatchResult:
        """A batch up to its publishing, unrecorded."""
        job = self._batches.job(self.loop.begin_batch(batch_id))
        task, gathered = BatchTask(job.tasks, 0), Gathered(job)
        for stream, given in rows.items():
            for chunk in fit_rows(given, self.schemas[stream]).to_batches():
                task.take(stream, chunk)
                gathered.take(stream, chunk)
        for stream in (*self._ended, *self._failed):
            gathered.end(stream)
        shards = [
            gathered.run(one, shard, self._home(one, shard)).packed()
            for one in job.networks
            for shard in range(one.job.n_shards)
        ]
        found = self._batches.merge(job, [task.report(), *shards])
        self._batches.publish(job, found)
        facts: dict[str, dict[str, Any]] = {
            name: {"failure": why} for name, why in self._failed.items()
        }
        for name, n_rounds in self._rounds.items():
            facts.setdefault(name, {})["rounds"] = n_rounds
        return batch_result(batch_id, found, facts, Timings())

    def _home(self, task: NetworkTask, shard: int) -> ShardHome:
        places = self._batches.networks.places
        if places is not None:
            return places.shard(task.unit, shard, task.job.n_shards)
        home = MemoryShard(self._batches.networks.job)
        return self._shards.setdefault((task.unit, shard), home)

    def ask(self, kind: str, payload: Mapping[str, Any], version: int | None = None) -> Command:
        """Request something, as an operator does."""
        return self.commands.append_command(
            self.run_id, kind, dict(payload), "tester", "a reason", time.time(), version
        )

    def answer(self, command: Command) -> Command:
        """The command with its answer."""
        found = self.reader.command(self.run_id, command.id)
        assert found is not None
        return found

    def kill(self) -> None:
        """Close the store as a kill leaves it, once somebody has marked the run."""
        self.writer.set_state(self.run_id, "interrupted", "killed", time.time())
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.reader.close()
        self.commands.close()
        self.writer.close()


def _input(name: str, schema: Schema, timestamps: Mapping[str, str]) -> InputJob:
    return InputJob(name, schema, timestamps.get(name, ""), rate=0.0)


def read_all(
    texts: Mapping[str, str],
    schemas: Mapping[str, Schema],
    functions: Functions,
    stored: Mapping[str, StoredRelation],
) -> tuple[ContinuousQuery, ...]:
    """Queries, each of which may read those before it."""
    known = {name: one.schema for name, one in stored.items()}
    found: dict[str, ContinuousQuery] = {}
    for name, text in texts.items():
        found[name] = read_query(name, text, schemas, functions, known, found)
    return tuple(found.values())


def batches(schemas: Mapping[str, Schema], sink: SinkSpec, folder: Path | None = None) -> Batches:
    """What makes results of the tasks of inputs that are given batch by batch. folder: where
    networks keep state; None: in memory."""
    sources = [
        InputSource(StreamSpec(name, schema, SourceSpec("memory", {})), MemorySource([], schema))
        for name, schema in schemas.items()
    ]
    places = None
    if folder is not None:
        places = Places(str(folder / "state"), str(folder / "arenas" / uuid.uuid4().hex))
    return Batches(sources, sink, places)
