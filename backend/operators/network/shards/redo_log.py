"""What makes a network's state survive: its inputs by batch, and images of its state now and then.

All files are named by the batch they belong to and appear whole (written under another name, then
renamed); writing one again replaces it by the same. Which batches count is not said here: Spark's
log of commits says it, by asking for a batch again or for the next one.

    jobs/VERSION      what ran, from the batch on that names it
    relations/DIGEST  a stored relation of some of them
    segments/BATCH    what went into the network in a batch
    inputs/BATCH      the input manager after a batch
    images/SHARD/BATCH   all regions of a shard after a batch
"""

from __future__ import annotations

import hashlib
import io
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import fs

from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import Streams
from backend.operators.network.core.regions import Regions
from backend.operators.network.shards.clocks import ClockSpan, ClockState, Released
from backend.operators.network.shards.input_manager import InputState
from backend.operators.network.shards.redo_files import (
    exactly,
    facts_of,
    head_of,
    ipc,
    ipc_bytes,
    timed_of,
    with_times,
    write_ipc,
)
from backend.operators.network.shards.timed import StreamState, Timed
from backend.operators.parts import file_system
from backend.workloads.flushing import flush

_NUMBER_DIGITS: Final = 8
#: Files of a batch that has been left behind by so many are of no use: one batch may come again.
_INPUTS_KEPT: Final = 2

#: What whoever started the run can do about a state that is not whole.
WAY_OUT: Final = "put the folder back as it was, or begin another run with --fresh"

_Clock = TypeVar("_Clock", ClockState, ClockSpan)
#: Pickles a job.
Pack: TypeAlias = Callable[[NetworkJob], bytes]


class StateLost(Exception):
    """What the state has to be rebuilt from is not there; the message says what, and what to do."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: {WAY_OUT}")


class StateDamaged(StateLost):
    """A file of the log is not what was written."""


@dataclass(frozen=True, slots=True)
class RedoSegment:
    """What went into a network in a batch. version: of the job that ran. is_first: the network was
    new in it."""

    version: str
    released: Released
    is_first: bool


class RedoLog:
    """The log of one unit. url: its folder, local or of any file system pyarrow knows. durable:
    what is written is on the disk, where that is of this machine."""

    def __init__(self, url: str, durable: bool = False) -> None:
        self._files, self._folder = file_system(url)
        self._is_durable = durable and isinstance(self._files, fs.LocalFileSystem)
        self._jobs: dict[str, NetworkJob] = {}
        self._digests: dict[int, tuple[pa.Table, str]] = {}  # by identity: tables do not change
        self._made: set[str] = set()

    def keep_job(self, job: NetworkJob, pack: Pack = pickle.dumps) -> str:
        """Keep a job, unless it is there; its version. pack: pickles it for whoever rebuilds state,
        its relations apart."""
        relations = {name: self._keep_relation(table) for name, table in job.relations.items()}
        data = head_of({"relations": relations}) + pack(replace(job, relations={}))
        version = hashlib.sha256(data).hexdigest()[:16]
        if not self._exists(f"jobs/{version}"):
            self._write(f"jobs/{version}", lambda out: out.write(data))
        return version

    def _keep_relation(self, table: pa.Table) -> str:
        """Keep a relation, unless it is there; its digest."""
        if id(table) not in self._digests:
            content = ipc(table)
            digest = hashlib.sha256(content).hexdigest()[:16]
            self._digests[id(table)] = table, digest
            if not self._exists(f"relations/{digest}"):
                self._write(f"relations/{digest}", lambda out: out.write(content))
        return self._digests[id(table)][1]

    def job(self, version: str) -> NetworkJob:
        """A job that was kept. Raises StateDamaged."""
        if version not in self._jobs:
            source = io.BytesIO(self._read_kept("jobs", version))
            digests: dict[str, str] = facts_of(source)["relations"]
            relations = {
                name: pa.ipc.open_stream(self._read_kept("relations", digest)).read_all()
                for name, digest in digests.items()
            }
            self._jobs[version] = replace(pickle.load(source), relations=relations)
        return self._jobs[version]

    def _read_kept(self, folder: str, digest: str) -> bytes:
        """A file that is named by what is in it."""
        with self._whole(f"{folder}/{digest}"):
            data = self._read(f"{folder}/{digest}")
            if hashlib.sha256(data).hexdigest()[: len(digest)] != digest:
                raise EOFError("it contains something else")
        return data

    def write_segment(self, batch: int, segment: RedoSegment) -> int:
        """Bytes written."""
        released = segment.released
        facts = {
            "version": segment.version,
            "is_first": segment.is_first,
            "clocks": _written(released.spans),
        }
        return self._write_rows(f"segments/{_number(batch)}", facts, released.rows)

    def has_segment(self, batch: int) -> bool:
        """Whether the segment of a batch is there."""
        return self._exists(f"segments/{_number(batch)}")

    def segment(self, batch: int) -> RedoSegment:
        """Raises StateDamaged."""
        facts, rows = self._read_rows(f"segments/{_number(batch)}")
        version, clocks = facts["version"], facts.get("clocks")
        if clocks is None:
            names = ("begin", "heartbeat", "has_begun")
            clocks = self._of_one_time(version, {name: facts[name] for name in names})
            clocks = [{**own, "first": _of_these(own, facts["first"])} for own in clocks]
        return RedoSegment(version, Released(_read(clocks, ClockSpan), rows), facts["is_first"])

    def _of_one_time(self, version: str, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The clocks of a job as an earlier version of the program wrote them: all alike. Raises
        StateLost where operators of several streams go by one of them: these are others now."""
        plan = self.job(version).plan
        for group in plan.groups:
            if len({plan.operator(id).work.reads for id in group.operators} - {""}) > 1:
                raise StateLost(
                    "the state was kept by an earlier version, in which all streams had one time"
                )
        return [{"streams": sorted(clock), **facts} for clock in plan.clocks]

    def write_inputs(self, batch: int, state: InputState) -> int:
        """Bytes written. What is not needed any more goes."""
        streams = {name: asdict(stream) for name, stream in state.streams.items()}
        facts = {"clocks": _written(state.clocks), "streams": streams}
        pending = {name: timed for name, timed in state.pending.items() if len(timed)}
        n_bytes = self._write_rows(f"inputs/{_number(batch)}", facts, pending)
        self._delete(f"inputs/{_number(batch - _INPUTS_KEPT)}")
        return n_bytes

    def has_run(self, batch: int) -> bool:
        """Whether the unit ran in a batch, one of the last two."""
        return self._exists(f"inputs/{_number(batch)}")

    @property
    def newest(self) -> int:
        """The last batch the unit ran in, -1 where none is known."""
        return max(self._batches("inputs"), default=-1)

    def began_in(self, batch: int) -> bool:
        """Whether the network was new in a batch. Raises StateDamaged."""
        return self.has_segment(batch) and self.segment(batch).is_first

    def lacks(self, last: int) -> str:
        """What is not there of the state after a batch that the unit ran in, in words; '' when it
        can be had. Nothing is read but names. Raises StateDamaged."""
        if not self.has_run(last):
            return f"ends with batch {self.newest}" if self.newest >= 0 else "is missing"
        first, segments = last + 1, set(self._batches("segments"))
        while first - 1 in segments:
            first -= 1
        shards = sorted(int(info.base_name) for info in self._infos("images")) or [0]
        for shard in shards:
            has_image = any(first - 1 <= image <= last for image in self.images(shard))
            if not has_image and not (first <= last and self.segment(first).is_first):
                return f"has no image of shard {shard} to go with its segments from {first} on"
        return ""

    def inputs(self, batch: int) -> InputState:
        """Raises StateDamaged."""
        facts, pending = self._read_rows(f"inputs/{_number(batch)}")
        streams, clocks = facts["streams"], facts.get("clocks")
        if clocks is None:
            n_released = {name: state.pop("n_released") for name, state in streams.items()}
            names = ("heartbeat", "has_begun")
            version = self.segment(batch).version
            clocks = self._of_one_time(version, {name: facts[name] for name in names})
            clocks = [{**own, "n_released": _of_these(own, n_released)} for own in clocks]
        states = {name: StreamState(**state) for name, state in streams.items()}
        return InputState(_read(clocks, ClockState), states, pending)

    def write_image(
        self, shard: int, batch: int, version: str, arrays: Iterable[tuple[str, NDArray[Any]]]
    ) -> int:
        """Bytes written. version: of the job whose state it is."""
        held = list(arrays)
        regions = [(name, array.dtype.str, len(array)) for name, array in held]
        head = head_of({"version": version, "regions": regions})

        def write(out: Any) -> None:
            out.write(head)
            for _, array in held:
                out.write(pa.py_buffer(array))

        self._write(f"images/{shard}/{_number(batch)}", write)
        return len(head) + sum(array.nbytes for _, array in held)

    def images(self, shard: int) -> list[int]:
        """The batches there are images of, ascending."""
        return self._batches(f"images/{shard}")

    def load_image(self, shard: int, batch: int, regions: Regions) -> str:
        """Fill regions, which hold nothing, with an image; the version of its job. Raises
        StateDamaged, with some regions filled."""
        name = f"images/{shard}/{_number(batch)}"
        with (
            self._whole(name),
            self._files.open_input_stream(f"{self._folder}/{name}") as source,
        ):
            facts = facts_of(source)
            for region, dtype, size in facts["regions"]:
                array = regions.array(region, dtype, size)
                array[:] = np.frombuffer(exactly(source, array.nbytes), dtype)
        version: str = facts["version"]
        return version

    def drop_image(self, shard: int, batch: int) -> None:
        """Forget an image that is of no use."""
        self._delete(f"images/{shard}/{_number(batch)}")

    def prune_images(self, shard: int) -> None:
        """Keep the two newest: the newest may be of a batch that comes again."""
        for batch in self.images(shard)[:-2]:
            self.drop_image(shard, batch)

    def prune_segments(self, n_shards: int) -> None:
        """Keep those that follow an image which every shard has beside a newer one, and the jobs
        that they or images name."""
        images = {shard: self.images(shard) for shard in range(n_shards)}
        if any(len(batches) < 2 for batches in images.values()):
            return
        oldest = min(batches[0] for batches in images.values())
        segments = self._batches("segments")
        for batch in segments:
            if batch <= oldest:
                self._delete(f"segments/{_number(batch)}")
        kept = [f"segments/{_number(batch)}" for batch in segments if batch > oldest]
        kept += [
            f"images/{shard}/{_number(n)}" for shard, batches in images.items() for n in batches
        ]
        self._prune_jobs(kept)

    def _prune_jobs(self, kept: Sequence[str]) -> None:
        """Keep those that some files name, and the newest, which no batch may have run yet."""
        jobs = sorted(self._infos("jobs"), key=lambda info: info.mtime_ns)
        if len(jobs) > 1:
            named = {self._version_of(name) for name in kept}
            for info in jobs[:-1]:
                if info.base_name not in named:
                    self._delete(f"jobs/{info.base_name}")

    def _version_of(self, name: str) -> str:
        """Of the job that a segment or an image names; '' when its shard has newer images, or it is
        damaged."""
        try:
            with (
                self._whole(name),
                self._files.open_input_stream(f"{self._folder}/{name}") as source,
            ):
                head = facts_of(source)
        except StateDamaged:
            return ""
        version: str = head.get("facts", head)["version"]
        return version

    def _write_rows(self, name: str, facts: Mapping[str, Any], rows: Mapping[str, Timed]) -> int:
        tables = {stream: with_times(timed) for stream, timed in rows.items()}
        sizes = {stream: ipc_bytes(table) for stream, table in tables.items()}
        head = head_of({"facts": facts, "tables": sizes})

        def write(out: Any) -> None:
            out.write(head)
            for table in tables.values():
                write_ipc(out, table)

        self._write(name, write)
        return len(head) + sum(sizes.values())

    def _read_rows(self, name: str) -> tuple[dict[str, Any], dict[str, Timed]]:
        with self._whole(name):
            source = io.BytesIO(self._read(name))
            head = facts_of(source)
            tables = {stream: timed_of(exactly(source, n)) for stream, n in head["tables"].items()}
        return head["facts"], tables

    @contextmanager
    def _whole(self, name: str) -> Iterator[None]:
        """Within the block a file is read. Raises StateDamaged where that cannot be done."""
        try:
            yield
        except (OSError, EOFError, LookupError, ValueError, OverflowError) as error:
            path = f"{self._folder}/{name}"
            if isinstance(error, FileNotFoundError):
                raise StateDamaged(f"the state file {path} is missing") from error
            why = (str(error).splitlines() or [""])[0]
            raise StateDamaged(f"the state file {path} is damaged ({why})") from error

    def _write(self, name: str, write: Callable[[Any], object]) -> None:
        folder, _, own = f"{self._folder}/{name}".rpartition("/")
        if folder not in self._made:
            self._files.create_dir(folder, recursive=True)
            self._made.add(folder)
        hidden = f"{folder}/.{own}-{uuid.uuid4().hex}"
        with self._files.open_output_stream(hidden) as out:
            write(out)
        if self._is_durable:
            flush(hidden)
        self._files.move(hidden, f"{folder}/{own}")
        if self._is_durable:
            flush(folder)

    def _read(self, name: str) -> bytes:
        with self._files.open_input_stream(f"{self._folder}/{name}") as source:
            data: bytes = source.read()
        return data

    def _exists(self, name: str) -> bool:
        info = self._files.get_file_info(f"{self._folder}/{name}")
        return bool(info.type is fs.FileType.File)

    def _delete(self, name: str) -> None:
        if self._exists(name):
            self._files.delete_file(f"{self._folder}/{name}")

    def _batches(self, name: str) -> list[int]:
        names = (info.base_name for info in self._infos(name))
        return sorted(int(entry) for entry in names if entry.isdigit())

    def _infos(self, name: str) -> list[fs.FileInfo]:
        """Of the files in a folder."""
        selector = fs.FileSelector(f"{self._folder}/{name}", allow_not_found=True)
        infos = self._files.get_file_info(selector)
        return [info for info in infos if not info.base_name.startswith(".")]


def _number(batch: int) -> str:
    return f"{batch:0{_NUMBER_DIGITS}d}"


def _written(clocks: Mapping[Streams, _Clock]) -> list[dict[str, Any]]:
    return [{"streams": sorted(clock), **asdict(own)} for clock, own in clocks.items()]


def _read(clocks: Sequence[Mapping[str, Any]], kind: type[_Clock]) -> dict[Streams, _Clock]:
    """What ``_written`` made of them."""
    return {
        frozenset(own["streams"]): kind(**{k: v for k, v in own.items() if k != "streams"})
        for own in clocks
    }


def _of_these(clock: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, int]:
    """The numbers of a clock's streams."""
    return {name: number for name, number in numbers.items() if name in clock["streams"]}
