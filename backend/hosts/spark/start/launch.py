"""From a workload to a finished run, in a Spark session of its own."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.engine.resume import QUERIES, RELATIONS, goes_on, obstacle
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.hosts.spark.run.runner import RunHost
from backend.hosts.spark.run.sources import read_at_once
from backend.hosts.spark.session.session import build_session, close_session
from backend.hosts.spark.start.endings import java_of, why_failed
from backend.hosts.spark.start.facts import source_facts
from backend.hosts.spark.start.launch_settings import LaunchSettings
from backend.hosts.spark.start.once import nothing_decided, taken_once
from backend.hosts.spark.start.places import check_whole, why_lost
from backend.hosts.spark.start.secrets import without_secrets
from backend.hosts.spark.start.warming import warm_workers
from backend.model.conditions import WindowMember
from backend.systems.contract import Refused
from backend.systems.registry import SYSTEMS
from backend.workloads.relations import SlidingRelation
from backend.workloads.sources import (
    LaterSource,
    ReplaySource,
    Unreadable,
    in_memory,
    is_replayed,
    open_source,
)
from backend.workloads.spec import SinkSpec, StreamSpec, Workload
from backend.workloads.stored import load_relation
from storage.errors import RunExists, RunLost, StoreError
from storage.reading.resume import LastState, last_state
from storage.vocabulary.branches import FILE
from storage.vocabulary.kinds import RunState
from storage.vocabulary.openings import ABOUT
from storage.vocabulary.records import Input, Json, Run
from storage.writer import EngineWriter

log = logging.getLogger(__name__)
VERSION: Final = "0.1.0"
#: So long the end of a run waits for workers that are still being warmed.
STOPPED_EARLY: Final = "stopped before Spark had started"
WARMED_WITHIN_S: Final = 3.0


class Launch:
    """Prepares and executes the run of a workload. ``stop`` may be called from a signal."""

    def __init__(self, workload: Workload, writer: EngineWriter, settings: LaunchSettings) -> None:
        """Raises WorkloadError for a relation that cannot be loaded."""
        self.workload, self.writer, self.settings = workload, writer, settings
        self._streams = {stream.name: stream for stream in workload.streams}
        self._stopping = threading.Event()
        self._host: RunHost | LocalHost | None = None
        self._loop: Loop | None = None
        self._held: dict[str, ReplaySource] = {}
        self._spark: SparkSession | None = None
        self._relations = {
            member: SlidingRelation(self._later(member.stream), member.column, member.rows)
            for member in self._members
        }
        cache = settings.folder / "cache"
        self._stored = {
            relation.name: load_relation(relation, cache) for relation in workload.relations
        }

    def stop(self) -> None:
        """Ask the run to end; returns at once."""
        self._stopping.set()
        if self._host is not None:
            self._host.stopping.set()

    @property
    def all_aside(self) -> bool:
        """There were tuples, and every one was kept aside."""
        return self._loop is not None and self._loop.aside.is_everything

    def execute(self) -> bool:
        """Run everything to its end; False when the run, or one of its inputs, failed."""
        self._loop = loop = self._begin()
        try:
            session, warming = self._session(loop)
        except BaseException as error:
            self._end(loop, "failed", f"Spark did not start: {error}")
            raise
        try:
            return self._run(session, loop)
        finally:
            warming.join(timeout=WARMED_WITHIN_S)
            close_session(session)

    def _run(self, session: SparkSession, loop: Loop) -> bool:
        try:
            self._host = host = RunHost(
                session,
                loop,
                self._sources(session),
                self._sink(loop.run.id),
                self._folder(loop.run.id),
                self.settings.once,
                self._keeps_rate(),
            )
            if self._stopping.is_set():
                host.stopping.set()
            state: RunState = "ended"
            note = host.run()
        except Exception as error:
            note, is_known = why_failed(error, java_of(session))
            if not is_known:
                log.exception("run %s broke off", loop.run.id)
            state = "failed"
        self._say_last_words(loop)
        try:
            loop.finish({} if self._host is None else self._host.failures)
            self._end(loop, state, note)
        except StoreError as error:
            log.error("run %s %s: %s", loop.run.id, state, note)
            if not isinstance(error, RunLost):
                log.error("could not write to the store: %s", error)
            return False
        return state == "ended" and not loop.failed_inputs

    def _say_last_words(self, loop: Loop) -> None:
        """What who started the run should know, whatever its end."""
        summary = loop.aside.summary(self._sink(loop.run.id).path or "")
        if self.settings.once:
            totals = loop.totals
            idle = nothing_decided(self.settings.asked, totals.decisions, totals.tuples)
            summary += [] if idle is None else [idle]
        for line in summary:
            log.warning("%s", line)

    def _keeps_rate(self) -> bool:
        """Whether streams come at their rates; says so of knobs that do not act."""
        if not self.settings.once:
            return True
        streams = (self._streams[name] for name in self._inputs)
        once = taken_once(self.workload.knobs, self.settings.asked, streams)
        for sentence in once.warnings:
            log.warning("%s", sentence)
        return once.keeps_rate

    def _session(self, loop: Loop) -> tuple[SparkSession, threading.Thread]:
        """Spark, its workers warming, and meanwhile the data that is prepared once: either takes
        seconds."""
        with ThreadPoolExecutor(1) as beside:
            starting = beside.submit(self._start)
            for stream in self._read:
                self._hold(stream, self._folder(loop.run.id))
            while not starting.done():
                wait([starting], timeout=1.0)
                loop.between_batches()
                if self._stopping.is_set():  # it may take longer than is left
                    self.writer.set_state(loop.run.id, "ended", STOPPED_EARLY, time.time())
            return starting.result()

    def _start(self) -> tuple[SparkSession, threading.Thread]:
        session = build_session(
            self.settings.master,
            f"planwatch {self.workload.name}",
            self.settings.folder,
            self.settings.conf,
            all(is_replayed(self._streams[name]) for name in self._inputs),
        )
        has_networks = any(query.plan is not None for query in self.workload.queries)
        return session, warm_workers(session, has_networks)

    def _hold(self, stream: StreamSpec, folder: Path) -> None:
        """folder: the run's own."""
        try:
            source = open_source(stream, self._cache, folder, self.settings.once)
        except Exception as error:  # the input fails alone, once the run reads it
            source = Unreadable(stream.schema, error)
        if source is not None:
            self._held[stream.name] = source

    @property
    def _cache(self) -> Path:
        return self.settings.folder / "cache"

    @property
    def _read(self) -> tuple[StreamSpec, ...]:
        """The streams the run reads, and those that windows of its queries look into."""
        looked = (member.stream for member in self._members)
        return tuple(self._streams[name] for name in dict.fromkeys([*self._inputs, *looked]))

    @property
    def _members(self) -> tuple[WindowMember, ...]:
        filters = (f for query in self.workload.queries for f in query.filters)
        return tuple(f for f in filters if isinstance(f, WindowMember))

    @property
    def _inputs(self) -> tuple[str, ...]:
        """Streams with queries, and those without that no window looks into."""
        asked = {name for query in self.workload.queries for name in query.reads}
        looked = {member.stream for member in self._members}
        return tuple(name for name in self._streams if name in asked or name not in looked)

    def _begin(self) -> Loop:
        """The run, recorded as starting: the newest one of the workload where it can go on."""
        last = last_state(self.writer, self.workload.name)
        if self.settings.begin == "fresh" or last is None:
            return self._fresh()
        run = last.run
        if self.writer.lives(run, time.time()):
            where = f"process {run.pid} on {run.host}"
            message = f"run {run.id} of this workload is at work in {where}"
            raise Refused(f"{message}; stop it, or start a new run with --fresh")
        why = obstacle(last.run, self._input_records(), self._relation_digests)
        why = why or self._why_lost(last)
        if why is not None:
            log.info("run %s cannot be resumed, a new one begins: %s", run.id, why)
            return self._fresh()
        return self._continued(last)

    def _why_lost(self, last: LastState) -> str | None:
        """Why a run cannot go on with what it left; None when it can. Raises Refused."""
        folder = self._folder(last.run.id)
        why = None if last.last_batch is None else why_lost(last.run, folder)
        if why is None:
            streams = [self._streams[name] for name in self._inputs]
            check_whole(last, folder, self._sink(last.run.id).path, streams)
        return why

    def _continued(self, last: LastState) -> Loop:
        job = self._job(last.run.id)
        now = goes_on(last, job)
        run = self._record(last.run.id)
        loop = Loop(run, job, self.writer, last, now.registry)
        loop.start(now.kept)
        log.info("run %s resumes: %s", run.id, now.kept)
        return loop

    def _fresh(self) -> Loop:
        """A new run; ids tell seconds, so that two of one second take turns."""
        while True:
            run_id = f"{self.workload.name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
            loop = Loop(self._record(run_id), self._job(run_id), self.writer)
            try:
                loop.start(alone=self.settings.begin == "go on")
            except RunExists:
                time.sleep(0.2)
            else:
                log.info("run %s begins in process %d", run_id, os.getpid())
                return loop

    def _job(self, run_id: str) -> RunJob:
        workload, settings = self.workload, self.settings
        inputs = {}
        for name in self._inputs:
            stream = self._streams[name]
            rate = (stream.rate or 0.0) if is_replayed(stream) else None
            facts = source_facts(stream)
            inputs[name] = InputJob(
                name,
                stream.schema,
                stream.timestamp or "",
                facts,
                rate,
                stream.tick_us,
                stream.disorder,
                stream.max_leap,
            )
        return RunJob(
            inputs,
            workload.queries,
            self._sink_facts(run_id),
            workload.knobs,
            settings.asked,
            workload.functions,
            self._relations,
            settings.progress,
            stored=self._stored,
            branches=settings.branches,
            log=settings.log,
            learned=settings.learned,
        )

    def _record(self, run_id: str) -> Run:
        queries: Json = [query.name for query in self.workload.queries]
        return Run(
            id=run_id,
            workload=self.workload.name,
            state="starting",
            started_at=time.time(),
            settings={
                "sink": self._sink_facts(run_id),
                "master": self.settings.master,
                "runs": str(self.settings.runs),
                "once": self.settings.once,
                ABOUT: self.workload.about,
                FILE: str(self.workload.path.absolute()),
                QUERIES: queries,
                RELATIONS: self._relation_digests,
                "systems": {system.name: system.title for system in SYSTEMS},
            },
            pid=os.getpid(),
            host=socket.gethostname(),
            version=VERSION,
            note="starting Spark",
            inputs=self._input_records(),
        )

    def _input_records(self) -> tuple[Input, ...]:
        inputs = []
        for name in self._inputs:
            stream = self._streams[name]
            schema = [[a.name, a.type] for a in stream.schema.attributes]
            inputs.append(Input(name, schema, source_facts(stream), stream.timestamp or ""))
        return tuple(inputs)

    @property
    def _relation_digests(self) -> dict[str, str]:
        return {name: relation.digest for name, relation in self._stored.items()}

    def _folder(self, run_id: str) -> Path:
        return self.settings.runs / run_id

    def _sink(self, run_id: str) -> SinkSpec:
        """The run's own part of the sink."""
        spec = self.workload.sink
        path = str(self._folder(run_id) / "matches")
        path = path if spec.path is None else f"{spec.path}/run={run_id}"
        return replace(spec, path=path)

    def _sink_facts(self, run_id: str) -> dict[str, Json]:
        sink = self._sink(run_id)
        return {**without_secrets({"path": str(sink.path), "format": sink.format})}

    def _sources(self, session: SparkSession) -> list[InputSource]:
        """What the host reads."""
        self._spark, sources = session, []
        for name in self._inputs:
            stream = self._streams[name]
            replay = self._replay(name) if is_replayed(stream) else None
            sources.append(InputSource(stream, replay))
        return sources

    def _replay(self, name: str) -> ReplaySource:
        """The tuples of a replayed stream; once Spark is there, which reads some files."""
        if name not in self._held:
            stream = self._streams[name]
            assert self._spark is not None
            try:
                self._held[name] = read_at_once(self._spark, stream)
            except Exception as error:  # the input fails alone
                self._held[name] = Unreadable(stream.schema, error)
        return self._held[name]

    def _later(self, name: str) -> LaterSource:
        """What windows look into, from another thread than the one that feeds the stream."""
        stream = self._streams[name]

        def opened() -> ReplaySource:
            own = open_source(stream, self._cache)
            return self._replay(name) if own is None else in_memory(own)

        return LaterSource(stream.schema, opened)

    def _end(self, loop: Loop, state: RunState, note: str) -> None:
        self.writer.set_state(loop.run.id, state, note, time.time())
        log.info("run %s %s: %s", loop.run.id, state, note)
        if self.settings.log is not None:
            self.settings.log.write(self.writer, loop.run.id)
