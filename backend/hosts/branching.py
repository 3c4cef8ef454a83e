"""A branch of a recorded run, replayed in this process: no Spark, no Java.

It is a run of its own in the same store, without a sink, and its settings say of what it is a
branch. It gives way to whatever else the machine does.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from backend.engine.branch import RecordedRun, TurnsAgain, check_replayable, told_apart
from backend.engine.job import RunJob
from backend.engine.loop import Loop
from backend.engine.resume import obstacle
from backend.hosts.in_process import InProcessLaunch
from backend.hosts.local import LocalHost
from backend.hosts.spark.run.runner import RunFailed
from backend.hosts.spark.start.launch_settings import LaunchSettings
from backend.systems.contract import Refused
from backend.workloads.built_in import BUILT_IN
from backend.workloads.file_list import is_written_since, lost_since, recorded_files
from backend.workloads.file_source import reader_of
from backend.workloads.spec import SinkSpec, StreamSpec, Workload
from storage.exchange.commands import CommandWriter
from storage.reader import Reader
from storage.vocabulary.branches import BranchOf
from storage.vocabulary.records import Event, Run
from storage.writer import EngineWriter


class BranchLaunch(InProcessLaunch):
    """Replays a recorded run with one knob changed from a batch on. Its sources are those of the
    workload, which must be as it was."""

    def __init__(
        self,
        workload: Workload,
        writer: EngineWriter,
        settings: LaunchSettings,
        record: RecordedRun,
        branch: BranchOf,
        reader: Reader,
        commands: CommandWriter,
    ) -> None:
        """Raises Refused for a run that cannot be replayed, WorkloadError as Launch."""
        super().__init__(workload, writer, settings)
        self.branch, self._of = branch, record
        self._reader, self._commands = reader, commands
        _check_sources(self._read)
        why = obstacle(record.run, self._input_records(), self._relation_digests)
        if why is not None:
            raise Refused(f"the workload of run {record.run.id} has changed: {why}")
        check_replayable(record, super()._job(record.run.id))
        self._written = _check_files(self._recorded_lists())

    @property
    def run_id(self) -> str:
        """Of the branch, once it has begun."""
        assert self._loop is not None
        return self._loop.run.id

    @property
    def _prefix(self) -> str:
        return f"{self.workload.name}-branch"

    def _record(self, run_id: str) -> Run:
        run = super()._record(run_id)
        settings = {**run.settings, **self.branch.settings()}
        return replace(run, settings=settings, note=self.branch.words)

    def _job(self, run_id: str) -> RunJob:
        knobs = {**self.workload.knobs, **self._of.first_values()}
        return replace(super()._job(run_id), knobs=knobs, branches=None)

    def _sink(self, run_id: str) -> SinkSpec:
        return SinkSpec(None)

    def _hold(self, stream: StreamSpec, folder: Path) -> None:
        """The files in the order in which the recorded run read them."""
        folder.mkdir(parents=True, exist_ok=True)
        for listed in self._recorded_lists():
            shutil.copyfile(listed, folder / listed.name)
        super()._hold(stream, folder)

    def _recorded_lists(self) -> list[Path]:
        """The lists of files the recorded run kept."""
        runs = Path(self._of.run.settings.get("runs", self.settings.runs))
        return sorted((runs / self._of.run.id).glob("files-*.jsonl"))

    def _made_host(self, loop: Loop) -> LocalHost:
        once, cuts = self.settings.once, self._of.cuts
        return LocalHost(
            loop, self._inputs_held(), self._sink(loop.run.id), once=once, cuts=cuts.__getitem__
        )

    def _play(self, host: LocalHost, loop: Loop) -> str:
        branch = self.branch
        turns = TurnsAgain(self._of, branch, loop, self._commands)
        if self._written:
            title = "data files were written to after the recorded run had read them"
            loop.tell(Event("run", title, ", ".join(self._written), "warning"))
        try:
            for batch in range(self._of.last + 1):
                if batch == branch.batch:
                    loop.tell(self._before(loop.run.id))
                try:
                    turns.before(batch)
                except Refused as error:
                    raise RunFailed(f"the branch is not possible: {error}") from error
                if not loop.may_begin():
                    return f"the branch is paused from batch {batch} on"
                if not host.step():
                    return self._short(batch, host)
                self._check(batch, host)
        finally:
            host.close()
        return f"the branch reached batch {self._of.last}, where {branch.run} stands"

    def _before(self, run_id: str) -> Event:
        """How the batches before the branch came out. Raises RunFailed when they matched otherwise:
        then the futures differ by more than the knob."""
        event = told_apart(self._reader, self.branch, run_id)
        if event.severity == "error":
            raise RunFailed(f"{event.title}: {event.detail}")
        return event

    def _short(self, batch: int, host: LocalHost) -> str:
        """Why it ends before a batch. Raises RunFailed when streams are shorter than they were."""
        if host.stopping.is_set():
            return "stopped"
        left = sum(sum(self._of.cuts[n].values()) for n in range(batch, self._of.last + 1))
        if left:
            raise RunFailed(f"the streams end before batch {batch}; {left} tuples are not there")
        return f"the streams reached their end before batch {batch}"

    def _check(self, batch: int, host: LocalHost) -> None:
        """Raises RunFailed when an input lacks tuples of the batch."""
        for name, why in host.failures.items():
            if self._of.cuts[batch].get(name):
                raise RunFailed(f"stream {name} is not as recorded: in batch {batch}, {why}")


def _check_files(lists: Sequence[Path]) -> list[str]:
    """The files that were written to since, but may still begin as they did. Raises Refused for one
    that is gone or shorter."""
    files = [file for record in lists for file in recorded_files(record)]
    why = next(filter(None, map(lost_since, files)), "")
    if why:
        raise Refused(f"the data are others now: {why}")
    return [str(file.path) for file in files if is_written_since(file)]


def _check_sources(streams: Sequence[StreamSpec]) -> None:
    """Raises Refused for a stream that gives its tuples once, or that Spark alone can read."""
    for stream in streams:
        source = stream.source
        if source.format not in BUILT_IN and reader_of(source.format, source.options) is None:
            raise Refused(
                f"stream {stream.name} cannot be replayed: its source is {source.format}; files "
                "that are read here and built-in sources can"
            )
