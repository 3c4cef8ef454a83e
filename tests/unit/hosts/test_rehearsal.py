"""The rehearsal: every kernel is called, and none is ever compiled for two kinds of arguments."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from numba import types
from numba.core.dispatcher import Dispatcher

from backend.hosts import rehearsal
from backend.operators import network
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.shards.homes import Attached, Done, Replay
from backend.operators.network.shards.shard import Places

#: Those that take long to compile.
SLOW = {
    "antijoin._take",
    "exact_sums._add",
    "extremes._follow",
    "keys._look_up",
    "netting._sort_groups",
    "set_operations._compare",
    "shed_built.rebuild",
    "shed_kernel.play",
    "store_kernels.compact",
    "store_kernels.partition",
    "store_kernels.take_away",
    "to_stream._follow",
    "tuned_kernel.probe_tuned",
}


def kernels() -> Iterator[tuple[str, Any]]:
    """By module and name."""
    for info in pkgutil.walk_packages(network.__path__, f"{network.__name__}."):
        module = importlib.import_module(info.name)
        for name, found in vars(module).items():
            is_own = isinstance(found, Dispatcher) and found.__module__ == module.__name__
            if is_own and not found.targetoptions.get("forceinline"):
                yield f"{info.name.rpartition('.')[2]}.{name}", found


def test_every_kernel_is_called_and_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with what a redo log gives back, whose arrays are Arrow's."""
    rehearsal.rehearse()
    places = Places(str(tmp_path / "log"), str(tmp_path / "arenas"))
    monkeypatch.setattr(rehearsal, "MemoryShard", lambda _: Lost(places))
    rehearsal.rehearse()
    called = {name: from_python(kernel.signatures) for name, kernel in kernels()}
    assert {name: found for name, found in called.items() if len(found) > 1} == {}
    assert {name for name in SLOW if not called[name]} == set()


def from_python(signatures: Sequence[Any]) -> list[Any]:
    """Those of calls from Python: kernels give each other pointers and constants."""
    return [one for one in signatures if not any(map(is_inside, one))]


def is_inside(kind: Any) -> bool:
    """Whether no call from Python has it: a pointer, a constant, or a tuple with one."""
    parts = getattr(kind, "types", ()) if isinstance(kind, types.BaseTuple) else ()
    return isinstance(kind, (types.Literal, types.CPointer)) or any(map(is_inside, parts))


class Lost:
    """A shard whose arena is never found again: each batch replays those before it."""

    def __init__(self, places: Places) -> None:
        self._log, self._arenas = places.log, places.arenas

    def attached(self, batch: int, replay: Replay) -> AbstractContextManager[Attached]:
        places = Places(self._log, f"{self._arenas}/{batch}")
        self._home = places.shard("rehearsal", 0, 1)
        return self._home.attached(batch, replay)

    def done(self, batch: int, done: Done) -> int:
        return self._home.done(batch, done)

    def job(self, version: str) -> NetworkJob:
        return rehearsal._jobs()[int(version)]


def test_what_is_compiled_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_mark", lambda: tmp_path / "not yet" / "mark")
    monkeypatch.setattr(rehearsal, "rehearse", lambda: None)
    monkeypatch.setattr(os, "nice", lambda _: None)
    rehearsal.main()
    assert (tmp_path / "not yet" / "mark").exists()
    rehearsal.compiled().join(timeout=1)
