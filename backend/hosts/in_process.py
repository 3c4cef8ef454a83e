"""The run of a workload in this process, without Spark: to look at it step by step."""

from __future__ import annotations

import logging
from dataclasses import replace

from backend.engine.job import RunJob
from backend.engine.loop import Loop
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.hosts.spark.start.endings import why_failed
from backend.hosts.spark.start.launch import Launch
from backend.processes.cores import available_cores
from storage.reading.resume import LastState
from storage.vocabulary.kinds import RunState

log = logging.getLogger(__name__)


class InProcessLaunch(Launch):
    """Replayed streams alone, at their rates or as they are stepped. Such a run begins anew
    each time, unless none of its batches was done, and keeps its state in memory."""

    def execute(self) -> bool:
        """Run everything to its end; False when the run, or one of its inputs, failed."""
        self._loop = loop = self._begin()
        for stream in self._read:
            self._hold(stream, self._folder(loop.run.id))
        self._host = host = self._made_host(loop)
        if self._stopping.is_set():
            host.stopping.set()
        state: RunState = "ended"
        try:
            note = self._play(host, loop)
        except Exception as error:
            note, is_known = why_failed(error, None)
            if not is_known:
                log.exception("run %s broke off", loop.run.id)
            state = "failed"
        self._say_last_words(loop)
        loop.finish(host.failures)
        self._end(loop, state, note)
        return state == "ended" and not loop.failed_inputs

    def _why_lost(self, last: LastState) -> str | None:
        return None if last.last_batch is None else "without Spark its state ended with it"

    def _made_host(self, loop: Loop) -> LocalHost:
        sink, once = self._sink(loop.run.id), self.settings.once
        keeps_rate = self._keeps_rate()
        inputs, cores = self._inputs_held(), available_cores()
        return LocalHost(loop, inputs, sink, once=once, keeps_rate=keeps_rate, cores=cores)

    def _play(self, host: LocalHost, loop: Loop) -> str:
        """Run all batches; why it ended."""
        return host.run()

    def _inputs_held(self) -> list[InputSource]:
        return [InputSource(self._streams[name], self._held.get(name)) for name in self._inputs]

    def _job(self, run_id: str) -> RunJob:
        return replace(super()._job(run_id), in_process=True)
