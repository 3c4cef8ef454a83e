"""A tuple that a join under k-constraints holds, and how its joins are with it."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

KeptState: TypeAlias = Literal["yes", "unknown", "no", "spilled"]


class KeptJoin(NamedTuple):
    """A join that a kept tuple is in. edge: its number; is_parent: the tuple waits for its child,
    else for parents. is_settled: the child is held; of a child: no parent joins it any more.
    waited: arrivals on the other side since its own; -1: they are not counted."""

    edge: int
    is_parent: bool
    is_settled: bool
    waited: int


class KeptTuple(NamedTuple):
    """A tuple that is held. number: which arrival of its input it was, from 1; tau: its time."""

    input: int
    number: int
    state: KeptState
    tau: int
    joins: tuple[KeptJoin, ...]
