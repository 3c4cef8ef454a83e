"""Branches, runs that are another one with one knob changed: how a command line asks for one, and
what its settings say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from storage.vocabulary.records import Json, Run

#: In a run's settings: of what it is a branch.
BRANCH: Final = "branch"
#: And the workload file it was made from, for those who replay it.
FILE: Final = "file"


@dataclass(frozen=True, slots=True)
class BranchOf:
    """``run`` as recorded up to batch ``batch``, from there on with another value of a knob.

    scope: the unit whose knob it is. was: its recorded value at that batch. last: the batch the
    branch goes on to.
    """

    run: str
    batch: int
    knob: str
    scope: str
    value: Json
    was: Json
    last: int

    def settings(self) -> dict[str, Json]:
        """As a run's settings have it."""
        return {BRANCH: asdict(self)}

    @property
    def words(self) -> str:
        """In one line."""
        return f"branch of {self.run} at batch {self.batch} with {self.knob} = {self.value}"


def branch_of(run: Run) -> BranchOf | None:
    """Of what the run is a branch; None for a run of its own."""
    origin = run.settings.get(BRANCH)
    return None if origin is None else BranchOf(**origin)


def asked_words(run: str, at: int, knob: str, value: Json) -> str:
    """A branch that is asked for, as its engine names it."""
    return f"the branch of {run} at batch {at} with {knob} = {value}"


def failed_words(asked: str) -> str:
    """The title of the event that tells it has failed; its detail says why."""
    return f"{asked} has failed"


def branch_words(run: str, at: int, scope: str, store: str, setting: str) -> list[str]:
    """The words behind 'run.py' that have a branch computed. setting: KNOB=VALUE. Values stand
    with their options and the run behind them all: they may begin with a dash."""
    options = {"at": at, "set": setting, "unit": scope, "store": store}
    return ["branch", *(f"--{name}={value}" for name, value in options.items()), "--", run]
