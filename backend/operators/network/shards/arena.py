"""A shard's state: regions in one memory-mapped file, as the last batch that ended well left them.

Nothing is copied when a shard is attached, whatever its size. The arena is of use only while its
folder says which batch it is at: a process that dies in mid-batch leaves a folder that does not,
and the state is rebuilt from the redo log.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Regions begin at multiples of so many bytes.
_ALIGNED: Final = 64
#: The file grows by at least so much.
_LEAST_BYTES: Final = 1 << 20
_STATE: Final = "state.json"
_CONTENT: Final = "regions"


class _Extent(NamedTuple):
    """Where a region lies. size: values."""

    offset: int
    dtype: str
    size: int

    @property
    def n_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * self.size

    @property
    def room(self) -> int:
        """Bytes with those up to the next region."""
        return -(-max(1, self.n_bytes) // _ALIGNED) * _ALIGNED


class Arena:
    """The state of one shard in a folder; while it is open nobody else has it. As a context manager
    it is locked at the beginning and released at the end, without being committed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = -1
        self._file = -1
        self._map: mmap.mmap | None = None
        self._extents: dict[str, _Extent] = {}
        self._views: dict[str, NDArray[Any]] = {}
        self._free: list[tuple[int, int]] = []
        self._end = 0
        self._is_changing = True
        #: The batch it is at; None: it is of no use before it was cleared. facts: what ``commit``
        #: was told with it.
        self.batch: int | None = None
        self.facts: Mapping[str, Any] = {}

    def __enter__(self) -> Arena:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            self._open()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._map, self._views = None, {}  # the map goes when the last array of it goes
        if self._file >= 0:
            os.close(self._file)
        fcntl.flock(self._lock, fcntl.LOCK_UN)  # also for processes that were forked meanwhile
        os.close(self._lock)
        self._file = self._lock = -1

    @property
    def regions(self) -> ArenaRegions:
        """What it holds."""
        return ArenaRegions(self)

    def begin(self) -> None:
        """Its regions are about to be changed: of no use to others until the next ``commit``."""
        (self._folder / _STATE).unlink(missing_ok=True)
        self.batch, self._is_changing = None, True

    def clear(self) -> None:
        """Forget all there is."""
        self.begin()
        self._map, self._extents, self._views, self._free, self._end = None, {}, {}, [], 0
        os.close(self._file)
        (self._folder / _CONTENT).unlink()
        self._file = self._opened()

    def commit(self, batch: int, facts: Mapping[str, Any]) -> None:
        """Its regions are those after a batch. facts: can be written as JSON."""
        state = {
            "batch": batch,
            "facts": facts,
            "regions": self._extents,
            "free": self._free,
            "end": self._end,
        }
        hidden = self._folder / f".{_STATE}"
        hidden.write_text(json.dumps(state), encoding="utf-8")
        hidden.replace(self._folder / _STATE)
        self.batch, self.facts, self._is_changing = batch, facts, False

    def _opened(self) -> int:
        return os.open(self._folder / _CONTENT, os.O_RDWR | os.O_CREAT, 0o644)

    def _open(self) -> None:
        self._file = self._opened()
        try:
            state = json.loads((self._folder / _STATE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        self.batch, self.facts, self._end = state["batch"], state["facts"], state["end"]
        self._extents = {name: _Extent(*extent) for name, extent in state["regions"].items()}
        self._free = [(offset, room) for offset, room in state["free"]]
        self._is_changing = False

    def view(self, name: str) -> NDArray[Any] | None:
        """The region called ``name``, if there is one."""
        if name not in self._views and name in self._extents:
            self._views[name] = self._view(self._extents[name])
        return self._views.get(name)

    def make(self, name: str, dtype: str, size: int, fill: int) -> NDArray[Any]:
        """A new region; what was called so is forgotten, and stays readable until the next one.
        Raises ValueError after a ``commit``, which would not know of it."""
        if not self._is_changing:
            raise ValueError(f"region {name} is made when the arena is at batch {self.batch}")
        wanted = _Extent(0, np.dtype(dtype).str, size)
        wanted, is_new = self._placed(wanted)
        old = self._extents.pop(name, None)
        if old is not None:
            self._give_back(old)
        self._extents[name] = wanted
        region = self._views[name] = self._view(wanted)
        if fill or not is_new:
            region[:] = fill
        return region

    def forget(self, names: list[str]) -> None:
        """Give the room of regions free."""
        for name in names:
            extent = self._extents.pop(name)
            self._views.pop(name, None)
            self._give_back(extent)

    def _give_back(self, extent: _Extent) -> None:
        """Its room is free; what lies side by side becomes one piece."""
        free: list[tuple[int, int]] = []
        for offset, room in sorted([*self._free, (extent.offset, extent.room)]):
            if free and sum(free[-1]) == offset:
                free[-1] = free[-1][0], free[-1][1] + room
            else:
                free.append((offset, room))
        self._free = free

    def names(self, prefix: str) -> Iterator[str]:
        """Of the regions whose names begin so."""
        return (name for name in self._extents if name.startswith(prefix))

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """All regions by name, in the order they were made."""
        for name, extent in self._extents.items():
            yield name, self._view(extent)

    def n_bytes(self, prefix: str = "") -> int:
        """Of the regions whose names begin so."""
        return sum(self._extents[name].n_bytes for name in self.names(prefix))

    def _placed(self, extent: _Extent) -> tuple[_Extent, bool]:
        """With a place in the file; and whether nothing was ever written there."""
        for place, (offset, room) in enumerate(self._free):
            if room >= extent.room:
                self._free[place] = (offset + extent.room, room - extent.room)
                self._free = [gap for gap in self._free if gap[1]]
                return extent._replace(offset=offset), False
        offset, self._end = self._end, self._end + extent.room
        return extent._replace(offset=offset), True

    def _view(self, extent: _Extent) -> NDArray[Any]:
        if self._map is None or len(self._map) < extent.offset + extent.room:
            self._grow(max(self._end, os.fstat(self._file).st_size))
        assert self._map is not None
        return np.frombuffer(self._map, extent.dtype, extent.size, extent.offset)

    def _grow(self, least: int) -> None:
        """Map the file, with room for all regions. Arrays of earlier maps stay what they are."""
        if os.fstat(self._file).st_size < max(1, self._end):
            _reserve(self._file, max(_LEAST_BYTES, 2 * least))
        self._map = mmap.mmap(self._file, os.fstat(self._file).st_size)


def _reserve(file: int, n_bytes: int) -> None:
    """Make a file so long. Raises OSError where the disk is full: later, writing through the map
    would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, n_bytes)
    else:
        os.ftruncate(file, n_bytes)


class ArenaRegions:
    """Regions of an arena; see Regions."""

    def __init__(self, arena: Arena, prefix: str = "") -> None:
        self._arena, self._prefix = arena, prefix

    def array(self, name: str, dtype: str, size: int, fill: int = 0) -> NDArray[Any]:
        key = self._prefix + name
        region = self._arena.view(key)
        return self._arena.make(key, dtype, size, fill) if region is None else region

    def resized(self, name: str, size: int, fill: int = 0) -> NDArray[Any]:
        key = self._prefix + name
        old = self._arena.view(key)
        if old is None:
            raise KeyError(key)
        if size <= len(old):
            return old
        region = self._arena.make(key, old.dtype.str, size, fill)
        region[: len(old)] = old
        return region

    def scope(self, name: str) -> ArenaRegions:
        return ArenaRegions(self._arena, f"{self._prefix}{name}/")

    def drop(self, name: str = "") -> None:
        own = self._prefix + name
        names = self._arena.names(f"{own}/" if name else own)
        gone = [*names, *(key for key in self._arena.names(own) if name and key == own)]
        self._arena.forget(gone)

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        return (pair for pair in self._arena.arrays() if pair[0].startswith(self._prefix))

    @property
    def n_bytes(self) -> int:
        return self._arena.n_bytes(self._prefix)
