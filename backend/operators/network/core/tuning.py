"""How operators are to be executed, and what they tell of that: the executor passes both on, and
only the kind of operator and whoever decides on it know what is in them.

A tuning changes nothing of what comes out, so state is brought back under any. A limit does: it is
a part of the job, and what went into a network goes in again under the limits it went in under.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, Self, runtime_checkable

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import OperatorWork


class Tuning(Protocol):
    """How one operator is to be executed; results are the same under all, unless it is a Limit. It
    can be pickled."""

    def planned(self, work: OperatorWork) -> OperatorWork:
        """The operator's work with what this decides of its plan. Raises TypeError for another kind
        of operator."""


class Limit:
    """Marks how an operator is executed as a part of what it answers: what it may keep, what it
    may lose, and what it learns that decides on that. Equal ones pickle alike."""

    __slots__ = ()


class Profile(Protocol):
    """What one operator saw in a batch besides its counts. It can be pickled."""

    def merged(self, others: Sequence[Self]) -> Self:
        """With those of other shards."""


@runtime_checkable
class ApproximateProfile(Protocol):
    """What an operator saw that may hand on less than all."""

    @property
    def accuracy(self) -> float | None:
        """Of what it hands on at the end of the batch, 0 to 1; 1: exact; None: not known."""


def as_tuned(plan: NetworkPlan, tunings: Mapping[str, Tuning]) -> NetworkPlan:
    """The plan with what tunings decide of it. tunings: by operator."""
    if not tunings:
        return plan
    operators = (
        replace(operator, work=tunings[operator.id].planned(operator.work))
        if operator.id in tunings
        else operator
        for operator in plan.operators
    )
    return replace(plan, operators=tuple(operators))
