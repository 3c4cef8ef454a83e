"""Queries over SysStream: networks fed with what a batch recorded.

The samples of a batch enter with the one after it, so that a record never depends on itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from backend.operators.contract import BatchResult, UnitResult
from backend.operators.network.core.job import NetworkJob
from backend.systems.stream.sysstream import sys_tuples
from storage.vocabulary.records import Entity, Sample


class RunsListening(Protocol):
    """Runs networks that read SysStream, beside those of the host."""

    def run(
        self,
        batch_id: int,
        jobs: Mapping[str, NetworkJob],
        told: Mapping[str, pa.Table],
        taps: Mapping[str, frozenset[str]],
    ) -> dict[str, UnitResult]:
        """A batch: what each unit did, its answers published. told: unit -> the tuples that are new
        to it; taps: as ``BatchPlan`` has them. A batch that comes again replaces what it did
        before."""


class Listening:
    """Feeds the networks that read SysStream (unit -> job), while there are any. taps: theirs
    among others. listener: runs them; None: they do not run."""

    def __init__(self) -> None:
        self.networks: dict[str, NetworkJob] = {}
        self.taps: Mapping[str, frozenset[str]] = {}
        self.listener: RunsListening | None = None
        self._waiting: dict[str, pa.Table] = {}
        self._last = self._ahead = 0.0  # the time of day, and what SysStream is ahead of it

    def joined(self, result: BatchResult) -> BatchResult:
        """The result of a batch, with what the networks made of the samples of the one before."""
        if not self.networks or self.listener is None:
            return result
        waiting, self._waiting = self._waiting, {}
        units = self.listener.run(result.batch_id, self.networks, waiting, self.taps)
        return replace(result, units={**result.units, **units})

    def recorded(
        self, samples: Iterable[Sample], entities: Callable[[], Mapping[str, Entity]], time: float
    ) -> None:
        """Samples of a batch; time: Unix seconds. Nothing is done when nobody listens. Where the
        clock is put back, the time of SysStream goes on from where it was."""
        self._ahead, self._last = self._ahead + max(0.0, self._last - time), time
        if not self.networks:
            self._waiting = {}
            return
        known, batch_samples = entities(), list(samples)
        for unit in self.networks:
            self._waiting[unit] = sys_tuples(batch_samples, known, unit, int(time + self._ahead))
