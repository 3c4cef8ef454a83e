"""From a workload to finished runs: one run per stream that has queries, in one Spark session."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from backend.engine.filters import FilterEngine
from backend.engine.knobs import FILTER_RUN_KNOBS, SELECTION_RUN_KNOBS
from backend.engine.loop import Engine, Loop, StreamJob
from backend.hosts.spark.executor import SparkExecutor
from backend.hosts.spark.filter_executor import FilterExecutor
from backend.hosts.spark.parts import Part, parts_of
from backend.hosts.spark.runner import Executor, StreamRunner
from backend.hosts.spark.session import build_session, close_session
from backend.hosts.spark.sinks import FileSink
from backend.hosts.spark.sources import is_replayed, open_replay
from backend.hosts.spark.warming import warm_workers
from backend.model.conditions import WindowMember
from backend.model.knobs import KnobSettings
from backend.workloads.relations import SlidingRelation
from backend.workloads.replay import ReplaySource, open_source
from backend.workloads.spec import SinkSpec, StreamSpec, Workload
from storage.errors import RunExists
from storage.vocabulary.kinds import RunState
from storage.vocabulary.records import Input, Json, Run
from storage.writer import EngineWriter

log = logging.getLogger(__name__)
VERSION = "0.1.0"
#: So long the end of a run waits for workers that are still being warmed.
WARMED_WITHIN_S = 3.0


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """master: Spark's. folder: where runs keep checkpoint, spool and default sink. once: see
    StreamRunner. conf: further settings of Spark, which come before ours. progress: told (n,
    total) as queries are registered."""

    master: str
    folder: Path
    once: bool
    conf: Mapping[str, str] = field(default_factory=dict)
    progress: Callable[[int, int], None] | None = None


class Launch:
    """Prepares and executes the runs of a workload. ``stop`` may be called from a signal."""

    def __init__(self, workload: Workload, writer: EngineWriter, settings: LaunchSettings) -> None:
        self.workload, self.writer, self.settings = workload, writer, settings
        self._stopping = threading.Event()
        self._runners: list[StreamRunner[Any, Any]] = []
        self._parts = parts_of(workload)
        self._held: dict[str, ReplaySource] = {}
        self._warming: list[threading.Thread] = []
        self._failed = False

    def stop(self) -> None:
        """Ask all runs to end; returns at once."""
        self._stopping.set()
        for runner in self._runners:
            runner.stopping.set()

    def execute(self) -> bool:
        """Run everything to its end; False when a run failed. Records are written throughout."""
        engines = [self._begin(part) for part in self._parts]
        try:
            session = self._session()
        except BaseException as error:
            for engine, _, _ in engines:
                self._end(engine, "failed", f"Spark did not start: {error}")
            raise
        try:
            threads = [
                threading.Thread(target=self._run_one, args=(session, *begun)) for begun in engines
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(timeout=0.2)
        finally:
            for thread in self._warming:
                thread.join(timeout=WARMED_WITHIN_S)
            close_session(session)
        return not self._failed

    def _session(self) -> SparkSession:
        """Spark, and meanwhile the data that is prepared once: either takes seconds."""
        with ThreadPoolExecutor(1) as beside:
            starting = beside.submit(
                build_session,
                self.settings.master,
                f"planwatch {self.workload.name}",
                self.settings.folder,
                self.settings.conf,
            )
            for stream in {part.stream.name: part.stream for part in self._parts}.values():
                with suppress(Exception):  # the run that needs it meets the error again, and fails
                    source = open_source(stream, self._cache)
                    if source is not None:
                        self._held[stream.name] = source
            return starting.result()

    @property
    def _cache(self) -> Path:
        return self.settings.folder / "cache"

    def _begin(self, part: Part) -> tuple[Loop[Any, Any], Part, SinkSpec]:
        """A run of its own; ids tell seconds, so that two of one second take turns."""
        while True:
            try:
                return self._begin_as(self._run_id(part), part)
            except RunExists:
                time.sleep(0.2)

    def _begin_as(self, run_id: str, part: Part) -> tuple[Loop[Any, Any], Part, SinkSpec]:
        stream = part.stream
        sink = self._sink(part, run_id)
        source = _source_facts(stream)
        schema = [[a.name, a.type] for a in stream.schema.attributes]
        sink_facts: dict[str, Json] = {"path": sink.path, "format": sink.format}
        run = Run(
            id=run_id,
            workload=self.workload.name,
            state="starting",
            started_at=time.time(),
            settings={"source": source, "sink": sink_facts, "master": self.settings.master},
            pid=os.getpid(),
            host=socket.gethostname(),
            version=VERSION,
            note="starting Spark",
            inputs=(Input(stream.name, schema, source, stream.timestamp or ""),),
        )
        functions = self.workload.functions
        progress = self.settings.progress
        job = StreamJob(
            stream.name, stream.schema, part.queries, source, sink_facts, functions, progress
        )
        make = FilterEngine if part.is_pipeline else Engine
        engine: Loop[Any, Any] = make(run, job, self._knobs(part), self.writer)
        engine.start()
        return engine, part, sink

    def _knobs(self, part: Part) -> KnobSettings:
        """The knobs of the run's kind; those of the other kind are for other runs."""
        specs = FILTER_RUN_KNOBS if part.is_pipeline else SELECTION_RUN_KNOBS
        known = {spec.name for spec in specs}
        chosen = {name: v for name, v in self.workload.knobs.items() if name in known}
        if part.stream.rate is not None:
            chosen.setdefault("rate", part.stream.rate)
        return KnobSettings.defaults(specs, chosen)

    def _run_id(self, part: Part) -> str:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        several = len(self._parts) > 1
        return "-".join([self.workload.name, *([part.label] if several else []), stamp])

    def _sink(self, part: Part, run_id: str) -> SinkSpec:
        spec = self.workload.sink
        if spec.path is None:
            return SinkSpec(str(self.settings.folder / "runs" / run_id / "matches"), spec.format)
        folder = f"{spec.path}/{part.label}" if len(self._parts) > 1 else spec.path
        return SinkSpec(f"{folder}/run={run_id}", spec.format)

    def _run_one(
        self, session: SparkSession, engine: Loop[Any, Any], part: Part, sink: SinkSpec
    ) -> None:
        assert sink.path is not None
        try:
            self._warm(session, engine, part)
            files = FileSink(session, sink.path, sink.format)
            relations = self._relations(session, part)
            executor = self._executor(session, part, files, relations)
            runner = StreamRunner(
                session,
                engine,
                part.stream,
                self._replay(session, part.stream) if is_replayed(part.stream) else None,
                files,
                executor,
                self.settings.folder / "runs" / engine.run.id,
                self.settings.once,
                bool(relations),
            )
            self._runners.append(runner)
            if self._stopping.is_set():
                runner.stopping.set()
            self._end(engine, "ended", runner.run())
        except Exception as error:
            self._failed = True
            log.exception("run %s failed", engine.run.id)
            self._end(engine, "failed", _first_line(error))

    def _warm(self, session: SparkSession, engine: Loop[Any, Any], part: Part) -> None:
        """Start the workers a run of selection queries is going to need."""
        if part.is_pipeline or engine.settings.word("executor") != "kernels":
            return
        if not self._stopping.is_set():
            self._warming.append(warm_workers(session))

    def _executor(
        self,
        session: SparkSession,
        part: Part,
        sink: FileSink,
        relations: dict[WindowMember, SlidingRelation],
    ) -> Executor[Any, Any]:
        schema, timestamp = part.stream.schema, part.stream.timestamp
        if not part.is_pipeline:
            return SparkExecutor(schema, timestamp, sink, seed=1)
        functions = self.workload.functions
        return FilterExecutor(session, schema, timestamp, sink, functions, relations, seed=1)

    def _replay(self, session: SparkSession, stream: StreamSpec) -> ReplaySource:
        return self._held.get(stream.name) or open_replay(session, stream, self._cache)

    def _relations(self, session: SparkSession, part: Part) -> dict[WindowMember, SlidingRelation]:
        """What the windows of a run's queries look into: streams replayed beside its own."""
        streams = {stream.name: stream for stream in self.workload.streams}
        members = (f for q in part.queries for f in q.filters if isinstance(f, WindowMember))
        return {
            member: SlidingRelation(
                self._replay(session, streams[member.stream]), member.column, member.rows
            )
            for member in members
        }

    def _end(self, engine: Loop[Any, Any], state: RunState, note: str) -> None:
        self.writer.set_state(engine.run.id, state, note, time.time())
        log.info("run %s %s: %s", engine.run.id, state, note)


def _source_facts(stream: StreamSpec) -> dict[str, Json]:
    facts: Mapping[str, Json] = {
        "stream": stream.name,
        "format": stream.source.format,
        **{k: v for k, v in stream.source.options.items() if len(v) <= 200},
        "timestamp": stream.timestamp or "arrival number",
    }
    return dict(facts)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:500] if lines else type(error).__name__
