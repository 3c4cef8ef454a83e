"""From a workload to finished runs: one run per stream that has queries, in one Spark session."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from backend.engine.knobs import KNOBS
from backend.engine.loop import Engine, StreamJob
from backend.model.knobs import KnobSettings
from backend.spark.runner import StreamRunner
from backend.spark.session import build_session
from backend.workloads.spec import SinkSpec, StreamSpec, Workload
from storage.records import Json, Run, RunState
from storage.writer import EngineWriter

log = logging.getLogger(__name__)
VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """master: Spark's. folder: where runs keep checkpoint, spool and default sink. once: see
    StreamRunner."""

    master: str
    folder: Path
    once: bool


class Launch:
    """Prepares and executes the runs of a workload. ``stop`` may be called from a signal."""

    def __init__(self, workload: Workload, writer: EngineWriter, settings: LaunchSettings) -> None:
        self.workload, self.writer, self.settings = workload, writer, settings
        self._stopping = threading.Event()
        self._runners: list[StreamRunner] = []
        self._failed = False

    def stop(self) -> None:
        """Ask all runs to end; returns at once."""
        self._stopping.set()
        for runner in self._runners:
            runner.stopping.set()

    def execute(self) -> bool:
        """Run everything to its end; False when a run failed. Records are written throughout."""
        engines = [self._begin(stream) for stream in self._streams()]
        try:
            session = build_session(
                self.settings.master, f"planwatch {self.workload.name}", self.settings.folder
            )
        except BaseException as error:
            for engine, _, _ in engines:
                self._end(engine, "failed", f"Spark did not start: {error}")
            raise
        try:
            threads = [
                threading.Thread(target=self._run_one, args=(session, *parts)) for parts in engines
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(timeout=0.2)
        finally:
            session.stop()
        return not self._failed

    def _streams(self) -> list[StreamSpec]:
        used = {query.stream for query in self.workload.queries}
        chosen = [stream for stream in self.workload.streams if stream.name in used]
        return chosen or list(self.workload.streams[:1])

    def _begin(self, stream: StreamSpec) -> tuple[Engine, StreamSpec, SinkSpec]:
        run_id = self._run_id(stream)
        sink = self._sink(stream, run_id)
        knobs: dict[str, object] = dict(self.workload.knobs)
        if stream.rate is not None:
            knobs.setdefault("rate", stream.rate)
        settings = KnobSettings.defaults(KNOBS, knobs)
        source = _source_facts(stream)
        sink_facts: dict[str, Json] = {"path": sink.path, "format": sink.format}
        run = Run(
            id=run_id,
            workload=self.workload.name,
            stream=stream.name,
            state="starting",
            started_at=time.time(),
            schema=[[a.name, a.type] for a in stream.schema.attributes],
            settings={"source": source, "sink": sink_facts, "master": self.settings.master},
            pid=os.getpid(),
            host=socket.gethostname(),
            version=VERSION,
            note="starting Spark",
        )
        queries = tuple(q for q in self.workload.queries if q.stream == stream.name)
        job = StreamJob(stream.name, stream.schema, queries, source, sink_facts)
        engine = Engine(run, job, settings, self.writer)
        engine.start()
        return engine, stream, sink

    def _run_id(self, stream: StreamSpec) -> str:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        several = len(self._streams()) > 1
        return "-".join([self.workload.name, *([stream.name] if several else []), stamp])

    def _sink(self, stream: StreamSpec, run_id: str) -> SinkSpec:
        spec = self.workload.sink
        path = spec.path or str(self.settings.folder / "runs" / run_id / "matches")
        if spec.path and len(self._streams()) > 1:
            path = f"{path}/{stream.name}"
        return SinkSpec(path, spec.format)

    def _run_one(
        self, session: SparkSession, engine: Engine, stream: StreamSpec, sink: SinkSpec
    ) -> None:
        folder = self.settings.folder
        own = folder / "runs" / engine.run.id
        try:
            runner = StreamRunner(
                session, engine, stream, sink, own, folder / "cache", self.settings.once
            )
            self._runners.append(runner)
            if self._stopping.is_set():
                runner.stopping.set()
            self._end(engine, "ended", runner.run())
        except Exception as error:
            self._failed = True
            log.exception("run %s failed", engine.run.id)
            self._end(engine, "failed", _first_line(error))

    def _end(self, engine: Engine, state: RunState, note: str) -> None:
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
