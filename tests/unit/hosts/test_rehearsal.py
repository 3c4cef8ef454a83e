"""The rehearsal: every kernel is called, and none is ever compiled for two kinds of arguments."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

from backend.hosts import rehearsal
from backend.operators import network
from backend.operators.network.homes import MemoryShard
from backend.operators.network.input_manager import Arrived
from backend.operators.network.redo_log import RedoLog, RedoSegment
from backend.operators.network.shard import NetworkTask, run_shard

#: Called by other kernels alone, or where a bag that a cache reads is given less room.
INSIDE = {"_meld", "_cut", "_pair_up", "cache_kernel.renumber"}


def kernels() -> Iterator[tuple[str, Any]]:
    """Those that Python calls, by name."""
    for info in pkgutil.iter_modules(network.__path__):
        module = importlib.import_module(f"{network.__name__}.{info.name}")
        for name, found in vars(module).items():
            is_own = isinstance(found, Dispatcher) and found.__module__ == module.__name__
            if is_own and not found.targetoptions.get("forceinline"):
                yield f"{info.name}.{name}", found


@pytest.mark.filterwarnings("error")
def test_every_kernel_is_called_and_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with what the redo log gives back, whose arrays Arrow owns."""
    rehearsal.rehearse()
    monkeypatch.setattr(rehearsal, "run_shard", replayed)
    rehearsal.rehearse()
    for name, kernel in kernels():
        if not {name, name.partition(".")[2]} & INSIDE:
            assert len(kernel.signatures) == 1, f"{name}: {kernel.signatures}"


def replayed(
    task: NetworkTask, shard: int, home: MemoryShard, arrived: dict[str, list[Arrived]], ended: Any
) -> None:
    """A shard's step whose tuples come out of a redo log."""


def test_what_is_compiled_is_marked(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_mark", lambda: tmp_path / "mark")
    monkeypatch.setattr(rehearsal, "rehearse", lambda: None)
    monkeypatch.setattr(rehearsal.os, "nice", lambda _: None)
    rehearsal.main()
    assert (tmp_path / "mark").exists()
    rehearsal.compiled().join(timeout=1)
