"""Branches of recorded runs: who computes one, how it is asked for, and which there are. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from dashboard.views.compare import ComparedPair, ComparedStretch
from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.branches import BranchOf, branch_of, branch_words
from storage.vocabulary.records import Run


def taker(runs: Sequence[Run], recorded: str) -> Run | None:
    """The run whose engine is asked to compute a branch of ``recorded``: that one itself while it
    is at work, else the newest that is; None: no engine is at work."""
    live = [run for run in runs if run.state in LIVE_STATES and branch_of(run) is None]
    live.sort(key=lambda run: (run.id != recorded, -run.started_at))
    return live[0] if live else None


#: Stands in a line for what is to be typed there.
SETTING: Final = "KNOB=VALUE"


def branch_line(run: str, at: int, scope: str, store: str, setting: str = SETTING) -> str:
    """What computes the branch when it is typed in a terminal. setting: the knob and its value."""
    return f"python3 run.py {shlex.join(branch_words(run, at, scope, store, setting))}"


def branch_pair(run: str, branch: BranchOf) -> ComparedPair:
    """The recorded run against its branch, from the batch on at which they part."""
    recorded = ComparedStretch(branch.run, branch.batch, branch.last)
    return ComparedPair(recorded, ComparedStretch(run, branch.batch))


def with_branch(here: Run, runs: Sequence[Run]) -> ComparedPair | None:
    """A branch beside its record, or a record beside its newest branch; None without one."""
    branch = branch_of(here) if runs else None
    if branch is not None:
        return branch_pair(here.id, branch)
    made = branches_of(runs, here.id)
    return branch_pair(made[0][0].id, made[0][1]) if made else None


def branches_of(runs: Sequence[Run], recorded: str) -> list[tuple[Run, BranchOf]]:
    """The branches of a run, newest first."""
    branches = [(run, branch_of(run)) for run in runs]
    mine = [
        (run, branch) for run, branch in branches if branch is not None and branch.run == recorded
    ]
    return sorted(mine, key=lambda pair: -pair[0].started_at)
