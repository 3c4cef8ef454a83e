"""What a page opens on: the run at work once it has a batch, until then a recorded one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.branches import branch_of
from storage.vocabulary.openings import opens_at
from storage.vocabulary.records import Run


class Opening(NamedTuple):
    """live: the newest run at work that has a batch. recording: the newest run that has one, where
    none is live and one is awaited. Both are ids, '' = none. at: the batch it plays from."""

    live: str = ""
    recording: str = ""
    at: int | None = None


NO_OPENING: Final = Opening()


def by_interest(runs: Sequence[Run]) -> list[Run]:
    """Runs at work before others, newest first; branches of runs last."""

    def place(run: Run) -> tuple[bool, bool, float]:
        return branch_of(run) is not None, run.state not in LIVE_STATES, -run.started_at

    return sorted(runs, key=place)


def default_run(runs: Sequence[Run], has_batch: Callable[[str], bool]) -> Run | None:
    """The newest run at work that has a batch, else the newest that has one, else the newest."""
    ordered = by_interest(runs)
    return next((run for run in ordered if has_batch(run.id)), next(iter(ordered), None))


def build_opening(
    runs: Sequence[Run], has_batch: Callable[[str], bool], awaits_since: float | None
) -> Opening:
    """awaits_since: when the start of a run was asked for, Unix s; None: it was not.

    A run that was begun since then and is over is awaited no longer.
    """
    default = default_run(runs, has_batch)
    if default is None or not has_batch(default.id):
        return NO_OPENING
    if default.state in LIVE_STATES:
        return Opening(live=default.id)
    own = [run for run in runs if branch_of(run) is None]
    begins = any(run.state in LIVE_STATES for run in own)
    asked = awaits_since is not None and all(run.started_at < awaits_since for run in own)
    if not begins and not asked:
        return NO_OPENING
    return Opening(recording=default.id, at=opens_at(default))
