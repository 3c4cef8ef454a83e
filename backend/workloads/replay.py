"""Replaying a source at a live rate: slices become Arrow files in a spool folder."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa

from backend.workloads.flushing import flush
from backend.workloads.sources import (
    ArrowTableSource,
    DriftSource,
    FlightsSource,
    MemorySource,
    ReplaySource,
    open_source,
)

__all__ = [
    "ArrowTableSource",
    "DriftSource",
    "Feeder",
    "FlightsSource",
    "MemorySource",
    "ReplaySource",
    "open_source",
    "read_spooled",
    "write_spooled",
]

#: Tuples of a file when nothing paces the feeder, and of files that wait for the next batch.
SLICE_TUPLES: Final = 20_000
AHEAD_TUPLES: Final = 100_000
#: While a backlog is worked off: tuples of a file at most, and files that are ahead.
LARGE_SLICE: Final = 65_536
FILES_AHEAD: Final = 10
#: More tuples than there are.
FAR: Final = 1 << 62
#: How names of files with tuples end. They hold columns as memory does: nothing is decoded, and
#: what nobody looks at is not even read. By name they come after an END with their number.
TUPLES: Final = ".ipc"
#: Up to where inputs were taken is told there.
TAKEN: Final = "_taken.json"
#: Digits of the arrival number that names a spool file.
NUMBER_DIGITS: Final = 12
#: What follows the number where there are no more tuples; Spark does not tell of empty files.
END: Final = ".end"
_NUMBER: Final = "[0-9]" * NUMBER_DIGITS
#: Unspent allowance kept, in seconds of the rate: a feeder that was held up catches up no further.
_CARRY_S: Final = 1.0


class FileTimes:
    """Modification times of the files of a spool: they grow from file to file, whoever writes it,
    and whatever is done to the machine's clock. Spark passes over files that are much older than
    others it has taken."""

    def __init__(self, directory: Path) -> None:
        """directory: the spool; files to come are later than those that are there."""
        self._last_ms = 0
        self._dating = threading.Lock()
        for path in directory.glob("*"):
            with suppress(FileNotFoundError):
                self._last_ms = max(self._last_ms, path.stat().st_mtime_ns // 1_000_000)

    def date(self, path: Path) -> None:
        """Make it later than all before, by a millisecond at least."""
        with self._dating:
            self._last_ms = max(self._last_ms + 1, time.time_ns() // 1_000_000)
            os.utime(path, ns=(self._last_ms * 1_000_000,) * 2)


class Feeder:
    """A thread that publishes a source's tuples as ``%012d.ipc`` files, in arrival order.

    The name is the arrival number of the file's first tuple, behind ``prefix``; files appear whole
    (written under a hidden name, then renamed) and their modification times grow by at least a
    millisecond. It goes on behind the files that are there.

    rate: tuples per second, read at every tick; 0: as fast as possible, in slices, but never more
    than ``ahead_tuples`` for the next batch. at_end: 'stop' or 'loop', read at the end, again
    and again while the feeder waits there. start: arrival number to go on from. durable: files
    are on the disk when they appear. times: shared by all that write into the directory.
    """

    def __init__(
        self,
        source: ReplaySource,
        directory: Path,
        rate: Callable[[], float],
        at_end: Callable[[], str],
        *,
        start: int = 0,
        ahead_tuples: int = AHEAD_TUPLES,
        slice_tuples: int = SLICE_TUPLES,
        tick_s: float = 0.2,
        prefix: str = "",
        limit: Callable[[], int | None] = lambda: None,
        marks_end: Callable[[], bool] = lambda: False,
        rests: Callable[[], bool] = lambda: False,
        durable: bool = False,
        times: FileTimes | None = None,
    ) -> None:
        self.source, self.directory = source, directory
        self.published = start  # arrival number of the next tuple
        self.n_consumed = start
        self.error: Exception | None = None  # what ended the thread, if not stop()
        self._rate, self._at_end = rate, at_end
        self.ahead_tuples: int | None = ahead_tuples  # None: without limit
        self._slice, self._tick_s = slice_tuples, tick_s
        self._prefix, self._is_durable = prefix, durable
        self._limit, self._marks_end, self._rests = limit, marks_end, rests
        self._told = start  # arrival number after the last tuple in a file
        self._begun = start  # and after the last one that the batch in flight may hold
        self._marked_at = -1  # where the end was told last
        self._tokens = 0.0
        self._times = times or FileTimes(directory)
        self._files: deque[tuple[int, Path]] = deque()
        self._at_rest = threading.Event()
        self._is_dry = False  # a source without a known end has nothing more at the moment
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._counting = threading.Lock()  # what is published, told and consumed goes together
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    @property
    def finished(self) -> bool:
        """The end is reached and at_end says stop; False again when it comes to say loop."""
        return self._at_rest.is_set()

    @property
    def backlog(self) -> int:
        """Tuples published and not yet consumed."""
        return self.published - self.n_consumed

    @property
    def failed(self) -> bool:
        """An error ended it, its end could not be told, and nothing is left to be taken."""
        there = [file for file in list(self._files) if file[1].exists()]
        if self.error is None or any(path.suffix == END for _, path in there):
            return False
        return all(end <= self.n_consumed for end, _ in there)

    def start(self) -> None:
        """Begin to publish."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._take_up()
        self._thread.start()

    def consumed_to(self, arrival: int) -> None:
        """Tell the feeder that all tuples before ``arrival`` were taken. Files that had been taken
        before that are deleted; those of the last batch may be asked for once more."""
        with self._counting:
            if arrival >= self._told:
                arrival = max(arrival, self.published)  # what was passed over is in no file
            safe, self.n_consumed = self.n_consumed, max(arrival, self.n_consumed)
        if self.n_consumed > safe:
            while self._files and self._files[0][0] <= safe:
                self._files.popleft()[1].unlink(missing_ok=True)
            self._wake.set()

    def batch_begins(self) -> None:
        """A batch has been given what is published; what follows is made while it runs."""
        self._begun = self.published
        self._wake.set()

    @property
    def races(self) -> bool:
        """Nothing paces it, and it has tuples that were not consumed."""
        return self._rate() <= 0 and (self.backlog > 0 or self._has_more)

    @property
    def _has_more(self) -> bool:
        """The source gives tuples at the moment."""
        return not (self.finished or self._is_dry or self._rests() or self.error)

    def keep_ahead(self, n_tuples: int) -> None:
        """Publish so many for the next batch, in files that grow with it."""
        if self.ahead_tuples is not None:
            self.ahead_tuples = n_tuples
            self._slice = min(LARGE_SLICE, max(SLICE_TUPLES, n_tuples // FILES_AHEAD))
            self._wake.set()

    def stop(self) -> None:
        """Publish no more; returns when the thread has ended, within two seconds."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    def _take_up(self) -> None:
        """Go on behind what an earlier process published."""
        for half in self.directory.glob(f".{self._prefix}{_NUMBER}{TUPLES}"):
            half.unlink()
        for path in sorted(self.directory.glob(f"{self._prefix}{_NUMBER}{TUPLES}")):
            first = int(path.stem[-NUMBER_DIGITS:])
            end = first + len(read_spooled(path))
            self._files.append((end, path))
            self.published = self._told = max(self.published, end)
        for path in sorted(self.directory.glob(f"{self._prefix}{_NUMBER}{END}")):
            self._marked_at = int(path.stem[-NUMBER_DIGITS:])
            self.published = max(self.published, self._marked_at)

    def _run(self) -> None:
        try:
            last = time.monotonic()
            while not self._stopping.is_set():
                now = time.monotonic()
                self._publish(self._allowance(now - last))
                last = now
                self._wake.wait(self._pause(now))
                self._wake.clear()
        except Exception as error:
            self._mark_end_if_possible()  # before others see that no tuples follow
            self.error = error
            while not self._stopping.wait(self._tick_s):
                self._mark_end_if_possible()

    def _pause(self, tick: float) -> float:
        """Seconds to wait: the rest of the tick, nothing while racing and not held back."""
        racing = self._rate() <= 0 and self._room > 0 and self._has_more
        return 0.0 if racing else max(0.0, tick + self._tick_s - time.monotonic())

    @property
    def _room(self) -> int:
        """Tuples that may be published for the next batch, when nothing paces them."""
        if self.ahead_tuples is None:
            return self._slice
        n_waiting = self.published - max(self._begun, self.n_consumed)
        return min(self.ahead_tuples - n_waiting, self._left)

    @property
    def _left(self) -> int:
        """Tuples that ``limit`` leaves room for."""
        limit = None if self.ahead_tuples is None else self._limit()
        return FAR if limit is None else max(0, limit - self.backlog)

    def _allowance(self, elapsed_s: float) -> int:
        """Tuples that may be published now."""
        rate = self._rate()
        if rate <= 0:
            self._tokens = 0.0
            return min(self._slice, self._room)
        self._tokens = min(self._tokens + rate * elapsed_s, max(1.0, rate * _CARRY_S))
        allowed = min(int(self._tokens), self._left)
        self._tokens -= allowed
        return allowed

    def _publish(self, allowed: int) -> None:
        while not self._stopping.is_set():
            position, left = self._place()
            if left == 0:
                self._mark_end()
                self._at_rest.set()
                return
            self._at_rest.clear()
            if self._rests():
                self._pass_over(min(allowed, left))
                return
            if allowed <= 0:
                return
            tuples = self.source.slice(position, min(allowed, self._slice, left))
            self._is_dry = not len(tuples)
            if self._is_dry:
                return
            self._write(tuples)
            allowed -= len(tuples)

    def _pass_over(self, n_tuples: int) -> None:
        """While the stream is paused its tuples are not told, and nobody is to wait for them. Those
        that come at a rate go by; others come later."""
        self._mark_end()
        if self._rate() > 0 and n_tuples > 0:
            with self._counting:
                is_level = self.n_consumed >= self._told
                self.published += n_tuples
                if is_level:
                    self.n_consumed = self.published

    def _place(self) -> tuple[int, int]:
        """Position in the source of the next tuple, and how many tuples there are from it on."""
        n_tuples = self.source.n_tuples
        if n_tuples is None:
            return self.published, self._slice
        if n_tuples == 0:
            return 0, 0
        position = self.published % n_tuples
        at_end = position == 0 and self.published > 0
        return position, 0 if at_end and self._at_end() != "loop" else n_tuples - position

    def _write(self, table: pa.Table) -> None:
        path = self._appear(TUPLES, lambda hidden: write_spooled(table, hidden))
        with self._counting:
            self._told = self.published = self.published + len(table)
        self._files.append((self.published, path))

    def _mark_end(self) -> None:
        """Tell of the end, once after each file, where that is wanted."""
        if self._marked_at < self._told and self._marks_end():
            path = self._appear(END, lambda hidden: hidden.write_text("end"))
            self._files.append((self.published, path))
            self._marked_at = self.published

    def _mark_end_if_possible(self) -> None:
        """After an error: what caused it, a full disk, say, may be there still."""
        with suppress(OSError):
            self._mark_end()

    def _appear(self, suffix: str, write: Callable[[Path], object]) -> Path:
        """Have a file with the next tuple's number appear, whole and later than those before."""
        number = f"{self.published:0{NUMBER_DIGITS}d}"
        path = self.directory / f"{self._prefix}{number}{suffix}"
        hidden = path.with_name(f".{path.name}")
        write(hidden)
        self._times.date(hidden)
        if self._is_durable:
            flush(hidden)
        hidden.rename(path)
        if self._is_durable:
            flush(self.directory)
        return path


def write_spooled(table: pa.Table, path: Path) -> None:
    """A spool file. Raises OSError."""
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)


def read_spooled(path: Path) -> pa.Table:
    """The tuples of a spool file, which stay in it until they are looked at. Raises
    pa.ArrowInvalid for a file that is damaged, OSError for one that is not there."""
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    table.validate(full=True)
    return table


def mark_end(spool: Path, tag: str, times: FileTimes) -> None:
    """Say in the spool that an input which no feeder feeds has ended; another time than before."""
    number = sum(1 for _ in spool.glob(f"{tag}{_NUMBER}{END}"))
    path = spool / f"{tag}{number:0{NUMBER_DIGITS}d}{END}"
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("end")
    times.date(hidden)
    hidden.replace(path)
