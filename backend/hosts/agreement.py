"""Whether what a run left in several places belongs together, asked before it goes on.

A batch leaves its traces one after another: it is planned (Spark's offsets), state is written, its
files are published, the store records it, a mark beside the tuples says so, Spark commits it. A
process that is killed stops anywhere in between, so what one place knows may be one batch ahead of
the next place: the batch in flight, which comes again with the same tuples. Every other difference
means that a folder was removed, or put back from a copy: to go on would replace published files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from backend.hosts.publish import newest_batch
from backend.operators.network.shards.redo_log import StateLost
from backend.operators.network.shards.shard import Places
from backend.systems.contract import Refused
from backend.workloads.flushing import flush

WHAT_TO_DO: Final = (
    "nothing was changed; put back what was removed or replaced, or begin another run with --fresh"
)


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The batch a host runs next. is_planned: it may have been begun before, and comes again with
    the tuples it had."""

    batch: int
    is_planned: bool

    def may_be_newest(self, batch: int) -> bool:
        """Whether a place may know this batch as its newest; -1: none."""
        return batch == self.batch - 1 or (self.is_planned and batch == self.batch)


@dataclass(frozen=True, slots=True)
class Mark:
    """Which networks (units) ran in the last batch that was marked. batch: -1 before the first."""

    batch: int = -1
    networks: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Mark | None:
        """None where there is none, or one of a version that did not tell."""
        mark = json.loads(path.read_text()) if path.exists() else {}
        return cls(mark["batch"], tuple(mark["networks"])) if "batch" in mark else None

    def write(self, path: Path, durable: bool) -> None:
        """See write_whole."""
        write_whole(path, {"batch": self.batch, "networks": self.networks}, durable)


def write_whole(path: Path, document: object, durable: bool) -> None:
    """Write JSON that appears in one step. durable: it is on the disk then."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(json.dumps(document))
    if durable:
        flush(hidden)
    hidden.replace(path)
    if durable:
        flush(path.parent)


def spark_upcoming(checkpoint: Path) -> Upcoming:
    """What Spark runs next by its own log: the newest batch that was planned, unless it was
    committed. Commits before that one do not count for it."""
    planned, committed = _newest(checkpoint / "offsets"), _newest(checkpoint / "commits")
    if planned < 0:
        return Upcoming(0, False)
    is_over = planned == committed
    return Upcoming(planned + is_over, not is_over)


def _newest(folder: Path) -> int:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def check_agreement(
    run_id: str, by: str, upcoming: Upcoming, newest: Mapping[str, int], sink: str | None
) -> None:
    """Whether other places agree with the one that says what comes next (by), and the sink has no
    later batch. newest: place -> its newest batch, -1 before the first. Raises Refused."""
    done = (by, upcoming.batch - 1)
    for place in newest.items():
        if not upcoming.may_be_newest(place[1]):
            raise Refused(_behind(run_id, done, place))
    published = -1 if sink is None else newest_batch(sink)
    if published >= upcoming.batch + upcoming.is_planned:
        raise Refused(_behind(run_id, done, (f"the sink {sink}", published)))


def check_order(run_id: str, newest: Mapping[str, int]) -> None:
    """Whether places that are told of a batch one after another know of it so. newest: as in
    check_agreement, in that order. Raises Refused."""
    for before, after in pairwise(newest.items()):
        if after[1] > before[1]:
            raise Refused(_behind(run_id, before, after))


def _behind(run_id: str, place: tuple[str, int], other: tuple[str, int]) -> str:
    (late, last), (early, newest) = sorted((place, other), key=lambda place: place[1])
    n = newest - last
    has = f"ends with batch {last}" if last >= 0 else "has no batch"
    return (
        f"run {run_id} cannot be resumed: {late} {has}, "
        f"{n} {'batch' if n == 1 else 'batches'} behind {early}, "
        f"which ends with batch {newest}; {WHAT_TO_DO}"
    )


def check_state(run_id: str, places: Places, mark: Mark | None, upcoming: Upcoming) -> None:
    """Whether the state of the networks that ran last is there, or can be rebuilt. Raises
    Refused."""
    if mark is None or upcoming.batch == 0:
        return
    for unit in mark.networks:
        log = places.log_of(unit)
        try:
            is_new = mark.batch == upcoming.batch and log.began_in(upcoming.batch)
            why = "" if is_new else log.lacks(upcoming.batch - 1)
        except StateLost as error:
            raise Refused(f"run {run_id} cannot be resumed: {error}") from error
        if why:
            raise Refused(
                f"run {run_id} cannot be resumed: the state of unit {unit} in {places.log} {why}, "
                f"and the last batch is {upcoming.batch - 1}; {WHAT_TO_DO}"
            )
