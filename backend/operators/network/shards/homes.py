"""Where the state of a shard is between two batches, and how a batch comes to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.regions import MemoryRegions, Regions
from backend.operators.network.shards.arena import Arena
from backend.operators.network.shards.input_manager import InputState
from backend.operators.network.shards.redo_log import RedoLog, RedoSegment, StateDamaged, StateLost

log = logging.getLogger(__name__)
#: Batches after which a shard's state is written out whole; as many again for every IMAGE_TUPLES
#: that it holds.
IMAGE_EVERY: Final = 32
IMAGE_TUPLES: Final = 500_000
#: Or tuples: so many, or half of what the state holds where that is more. A million take a third of
#: a second to go through an aggregate again.
LOGGED_TUPLES: Final = 2_000_000

#: Or elements that operators made of them, ten for each of those: joins make many of few.
MADE_PER_TUPLE: Final = 10

#: Has what went into a network in a batch go through it again: state, version it is of, segment.
#: How many elements operators made of it.
Replay: TypeAlias = Callable[[Regions, str, RedoSegment], int]


@dataclass
class Attached:
    """A shard's state after the batch before. version: of the job it is of, '' for a new one. how:
    'arena', 'caught up', 'rebuilt' or 'new'. inputs: the input manager's."""

    regions: Regions
    version: str
    how: str
    inputs: InputState


@dataclass(frozen=True)
class Done:
    """What a batch did to the state. inputs: the input manager's after it; n_tuples: held by the
    operators; n_made: elements that they made."""

    segment: RedoSegment
    inputs: InputState
    n_tuples: int
    n_made: int


class ShardHome(Protocol):
    """Where the state of a shard is between two batches."""

    def attached(self, batch: int, replay: Replay) -> AbstractContextManager[Attached]:
        """The state after the batch before; nobody else has it meanwhile. Raises StateLost."""

    def done(self, batch: int, done: Done) -> int:
        """The state is that after the batch: called while it is attached. Bytes written."""

    def job(self, version: str) -> NetworkJob:
        """What the state is of, or was."""


class MemoryShard:
    """A shard in this process, whose state ends with it; see ShardHome. job_of: by version."""

    def __init__(self, job_of: Callable[[str], NetworkJob]) -> None:
        self._job_of = job_of
        self._held = Attached(MemoryRegions(), "", "new", InputState())
        self._batch = -1

    def job(self, version: str) -> NetworkJob:
        return self._job_of(version)

    @contextmanager
    def attached(self, batch: int, replay: Replay) -> Iterator[Attached]:
        if self._batch != batch - 1:
            self._held = Attached(MemoryRegions(), "", "new", InputState())
        self._batch = -1
        yield self._held

    def done(self, batch: int, done: Done) -> int:
        regions = self._held.regions
        self._held = Attached(regions, done.segment.version, "arena", done.inputs)
        self._batch = batch
        return 0


class DurableShard:
    """A shard with an arena on this machine and a redo log that outlives it; see ShardHome.

    arena: its own folder, of this incarnation of the run alone: what a machine that went down left
    behind must not be found again. Shard 0 writes what all shards of the unit have in common.
    """

    def __init__(self, log: RedoLog, arena: Path, shard: int, n_shards: int) -> None:
        self._log, self._folder = log, arena
        self._shard, self._n_shards = shard, n_shards
        self._arena: Arena | None = None
        self._since(-1)

    def _since(self, image: int, n_rows: int = 0, n_made: int = 0) -> None:
        """The batch of the last image; tuples that were logged since, and elements made of them."""
        self._image, self._n_rows, self._n_made = image, n_rows, n_made

    def job(self, version: str) -> NetworkJob:
        return self._log.job(version)

    @contextmanager
    def attached(self, batch: int, replay: Replay) -> Iterator[Attached]:
        with Arena(self._folder) as arena:
            self._arena = arena
            try:
                how, version = self._brought(arena, batch, replay)
                inputs = InputState() if how == "new" else self._log.inputs(batch - 1)
                arena.begin()
                yield Attached(arena.regions, version, how, inputs)
            finally:
                self._arena = None

    def done(self, batch: int, done: Done) -> int:
        arena, segment = self._arena, done.segment
        assert arena is not None
        n_bytes = 0
        if self._shard == 0:
            n_bytes += self._log.write_segment(batch, segment)
            n_bytes += self._log.write_inputs(batch, done.inputs)
        self._n_rows += _n_rows(segment)
        self._n_made += done.n_made
        enough = max(LOGGED_TUPLES, done.n_tuples // 2)
        often = IMAGE_EVERY * (1 + done.n_tuples // IMAGE_TUPLES)
        is_much = self._n_rows >= enough or self._n_made >= MADE_PER_TUPLE * enough
        if is_much or batch - self._image >= often:
            n_bytes += self._write_image(batch, segment.version, arena)
        arena.commit(batch, self._facts(segment.version))
        return n_bytes

    def _facts(self, version: str) -> Mapping[str, Any]:
        rows, made = self._n_rows, self._n_made
        return {"version": version, "image": self._image, "n_rows": rows, "n_made": made}

    def _write_image(self, batch: int, version: str, arena: Arena) -> int:
        n_bytes = self._log.write_image(self._shard, batch, version, arena.arrays())
        self._since(batch)
        self._log.prune_images(self._shard)
        if self._shard == 0:
            self._log.prune_segments(self._n_shards)
        return n_bytes

    def _brought(self, arena: Arena, batch: int, replay: Replay) -> tuple[str, str]:
        """Bring the arena to the end of the batch before; how, and the version it is of then."""
        last = batch - 1
        if last < 0 or not self._log.has_run(last):
            arena.clear()
            self._since(last)
            return "new", ""
        at = arena.batch
        is_near = at is not None and last - IMAGE_EVERY <= at <= last
        if at is not None and is_near and self._has_all(at + 1, last):
            self._since(*(arena.facts[name] for name in ("image", "n_rows", "n_made")))
            version: str = arena.facts["version"]
            how = "arena" if at == last else "caught up"
            return how, self._replayed(arena, version, at + 1, last, replay)
        return "rebuilt", self._rebuilt(arena, last, replay)

    def _rebuilt(self, arena: Arena, last: int, replay: Replay) -> str:
        """The state after a batch from the newest image before it that is whole, and the segments
        behind that; the version it is of."""
        damaged: list[int] = []
        for image in reversed(self._log.images(self._shard)):
            if image > last or not self._has_all(image + 1, last):
                continue
            arena.clear()
            try:
                version = self._log.load_image(self._shard, image, arena.regions)
            except StateDamaged as error:
                log.warning("an older image takes its place: %s", error)
                damaged.append(image)
                continue
            self._since(image)
            version = self._replayed(arena, version, image + 1, last, replay)
            break
        else:
            arena.clear()
            version = self._from_the_beginning(arena, last, replay)
        for image in damaged:
            self._log.drop_image(self._shard, image)
        return version

    def _from_the_beginning(self, arena: Arena, last: int, replay: Replay) -> str:
        first = last
        while first > 0 and self._log.has_segment(first - 1):
            first -= 1
        if not self._log.has_segment(first) or not self._log.segment(first).is_first:
            raise StateLost(
                f"the redo log has no image of shard {self._shard} that is whole to go with its "
                f"segments {first} to {last}, and its first segment is gone"
            )
        self._since(first - 1)
        return self._replayed(arena, "", first, last, replay)

    def _has_all(self, first: int, last: int) -> bool:
        return all(self._log.has_segment(batch) for batch in range(first, last + 1))

    def _replayed(self, arena: Arena, version: str, first: int, last: int, replay: Replay) -> str:
        """Have the segments of some batches go through the network; the version of the last. What
        comes before one in which the network was new is of its former life."""
        arena.begin()
        for batch in range(first, last + 1):
            segment = self._log.segment(batch)
            if segment.is_first:
                arena.clear()
                version = ""
            self._n_made += replay(arena.regions, version, segment)
            self._n_rows += _n_rows(segment)
            version = segment.version
        return version


def _n_rows(segment: RedoSegment) -> int:
    return sum(map(len, segment.released.rows.values()))
