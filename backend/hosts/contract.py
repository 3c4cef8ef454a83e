"""What hosts run, and what they ask of the loop they run it for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from backend.engine.listening import RunsListening
from backend.model.knobs import KnobValue
from backend.operators.contract import BatchPlan, BatchResult
from backend.workloads.file_counts import FilesRead
from backend.workloads.file_source import FileSource
from backend.workloads.sources import ReplaySource
from backend.workloads.spec import StreamSpec
from storage.vocabulary.kinds import Phase
from storage.vocabulary.records import Event


@dataclass(frozen=True, slots=True)
class InputSource:
    """An input of a run. replay: its tuples, where the host feeds it at a pace of ours; None: Spark
    reads it. start: arrival number of the first tuple, in a run that goes on."""

    stream: StreamSpec
    replay: ReplaySource | None = None
    start: int = 0

    @property
    def name(self) -> str:
        """The stream's."""
        return self.stream.name

    @property
    def files(self) -> FilesRead | None:
        """What became of its files; None of a stream without any."""
        return self.replay.files_read if isinstance(self.replay, FileSource) else None

    def rounds(self, through: int) -> int:
        """How often it began anew between ``start`` and arrival number ``through`` (exclusive)."""
        n = None if self.replay is None else self.replay.n_tuples
        return max(0, through - 1) // n - max(0, self.start - 1) // n if n else 0


class InputsFailed(Exception):
    """No input is left to read, because every one failed; the message says why."""


class BatchLoop(Protocol):
    """The loop of a run. Batches come one at a time; begin_batch and end_batch (or abandon_batch)
    around each, idle and between_batches from another thread while none is running."""

    stop_requested: threading.Event

    @property
    def in_batch(self) -> bool:
        """A batch is between its begin and its end."""

    @property
    def is_changed(self) -> bool:
        """The next batch may run something else than the last one: queries or knobs changed."""

    def listens(self, listener: RunsListening) -> None:
        """Networks over SysStream run there."""

    def may_begin(self) -> bool:
        """A batch may begin; while the run is held none may, and the host asks again."""

    def decided(self, unit: str, operator: str, waiting: Mapping[str, int]) -> None:
        """Told by hosts that run networks in this process: a scheduling decision was made. waiting:
        queue -> elements that it holds now."""

    def may_decide(self) -> bool:
        """The next such decision may be made; while decisions are stepped, the host asks again."""

    def begins(self, phase: Phase) -> None:
        """The engine does this from now on; between the begin and the end of a batch the host tells
        what of it, else what it waits for."""

    def begin_batch(self, batch_id: int) -> BatchPlan:
        """What the batch runs. An id may come again after a crash, the last one, with its tuples;
        its operators are then those of before."""

    def end_batch(self, result: BatchResult) -> None:
        """The batch is done, and its results are in the sink."""

    def abandon_batch(self) -> None:
        """The batch failed."""

    def tell(self, event: Event) -> None:
        """Record something that happened, with the batch that is under way or the next one."""

    def idle(self) -> None:
        """No batch is running: commands may be carried out."""

    def between_batches(self) -> None:
        """Called several times a second: for signs of life, and for what is done now and then."""

    def input_knob(self, input: str, name: str) -> KnobValue:
        """'rate', in tuples a second (0: as fast as possible); 'at_end', 'stop' or 'loop';
        'max_batch_tuples', the most of the input that a batch takes (0: no limit); 'intake', 'on',
        'paused' or 'removed'."""

    def ending(self, why: str) -> None:
        """The run was stopped from outside: said before what runs it is taken down, which a loaded
        machine may not live to see."""


def cause(error: BaseException) -> str:
    """The innermost cause of an error, in one line."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    lines = str(error).strip().splitlines()
    text = lines[0][:500] if lines else ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
