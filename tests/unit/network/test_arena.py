"""Regions in a file: what is left there is found again, and what broke off is not."""

from __future__ import annotations

import fcntl
import os
import random
import resource
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.core.regions import MemoryRegions, Regions
from backend.operators.network.shards.arena import Arena


def change(regions: Regions, rng: random.Random) -> None:
    """Something an operator does to its regions."""
    name, scope = rng.choice("abc"), regions.scope(rng.choice(["one", "two", "two/three"]))
    kind = rng.choice(["int64", "float64", "uint8"])
    array = scope.array(name, kind, rng.randint(0, 300), rng.choice([0, 7]))
    if rng.random() < 0.4:
        array = scope.resized(name, rng.randint(0, 2000), rng.choice([0, 9]))
    if len(array):
        array[rng.randrange(len(array))] = rng.randint(0, 99)
    if rng.random() < 0.1:
        regions.scope("one").drop(rng.choice(["", "a", "b"]))
    if rng.random() < 0.1:
        regions.drop("two")


def content(regions: Regions) -> dict[tuple[str, str], list[float]]:
    """All there is; asking for a region that is not there makes one of no values."""
    return {
        (scope, name): regions.scope(scope).array(name, "int64", 0).tolist()
        for scope in ("one", "two", "two/three")
        for name in "abc"
    }


@settings(deadline=None)
@given(st.integers(0, 1 << 32))
def test_as_in_memory_over_batches(seed: int) -> None:
    import tempfile

    memory = MemoryRegions()
    with tempfile.TemporaryDirectory() as folder:
        for batch in range(4):
            with Arena(Path(folder)) as arena:
                assert arena.batch == (batch - 1 if batch else None)
                assert arena.facts == ({"n": batch - 1} if batch else {})
                arena.begin()
                for regions in (arena.regions, memory):
                    rng = random.Random(seed + batch)
                    for _ in range(30):
                        change(regions, rng)
                assert content(arena.regions) == content(memory)
                assert arena.regions.n_bytes == memory.n_bytes == arena.n_bytes()
                arena.commit(batch, {"n": batch})


def test_what_broke_off_is_of_no_use_and_can_be_cleared(tmp_path: Path) -> None:
    with Arena(tmp_path) as arena:
        arena.regions.array("x", "int64", 3, 5)
        arena.commit(0, {})
    with Arena(tmp_path) as arena:
        arena.begin()
    with Arena(tmp_path) as arena:
        assert arena.batch is None
        arena.clear()
        assert arena.regions.array("x", "int64", 2).tolist() == [0, 0]


def test_only_one_has_it(tmp_path: Path) -> None:
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    with Arena(tmp_path), pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(lock)


def test_no_region_is_made_behind_the_back_of_a_commit(tmp_path: Path) -> None:
    with Arena(tmp_path) as arena:
        arena.regions.array("x", "int64", 3, 5)
        arena.commit(0, {})
        with pytest.raises(ValueError, match="region y"):
            arena.regions.array("y", "int64", 3)
        with pytest.raises(ValueError, match="region x"):
            arena.regions.resized("x", 4)
        arena.begin()
        assert arena.regions.resized("x", 4).tolist() == [5, 5, 5, 0]


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    if not hasattr(os, "posix_fallocate"):
        pytest.skip("files are not given room ahead here")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Arena(tmp_path) as arena:
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, hard))
        try:
            with pytest.raises(OSError, match="large"):
                arena.regions.array("x", "int64", 1 << 20)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)


def test_growing_leaves_other_arrays_what_they_were(tmp_path: Path) -> None:
    with Arena(tmp_path) as arena:
        first = arena.regions.array("first", "int64", 10, 1)
        for n in (100, 10_000, 1_000_000):
            grown = arena.regions.array("big", "int64", 1)
            grown[0] = 3
            grown = arena.regions.resized("big", n, 8)
            assert (grown[0], grown[-1]) == (3, 8)
        first[:] = 2
        assert np.array_equal(arena.regions.array("first", "int64", 1), np.full(10, 2))
        with pytest.raises(KeyError):
            arena.regions.resized("none", 5)
