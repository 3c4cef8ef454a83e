"""How a join probes its synopses: a pipeline for each input, an index for each step (card 6).

An element of input i is joined with the other inputs one after the other. At each step the columns
of the next input whose classes already have a value are the key of an index; without any, the step
is a Cartesian product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

ProbeOrders: TypeAlias = tuple[tuple[int, ...], ...]


class ProbedJoin(Protocol):
    """What of a join says how it probes."""

    @property
    def equal(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Classes of columns (input, place) with equal values."""

    @property
    def orders(self) -> ProbeOrders:
        """For each input in which order the others are probed; (): as they come."""


@dataclass(frozen=True, slots=True, order=True)
class KeyColumn:
    """A column of a tuple whose value all columns of a class have in common. as_float: an integer
    that is compared with floating-point numbers."""

    column: int
    group: int
    as_float: bool = False


@dataclass(frozen=True, slots=True)
class ProbeStep:
    """The next input of a pipeline. known: the classes that have values by then, as bits."""

    target: int
    known: int


def probe_orders(work: ProbedJoin, n_inputs: int) -> ProbeOrders:
    """For each input the order in which it probes the others. Raises ValueError."""
    inputs = range(n_inputs)
    if not work.orders:
        return tuple(tuple(j for j in inputs if j != i) for i in inputs)
    for i, order in enumerate(work.orders):
        if sorted((i, *order)) != list(inputs):
            raise ValueError(f"input {i} of a join of {n_inputs} cannot be probed with as {order}")
    if len(work.orders) != n_inputs:
        raise ValueError(f"{len(work.orders)} probe orders for a join of {n_inputs} inputs")
    return work.orders


def key_columns(
    work: ProbedJoin, port: int, types: Sequence[Sequence[str]], places: Sequence[int]
) -> tuple[KeyColumn, ...]:
    """The columns of an input that are in classes, by their places in the input's store.

    types: 'int64' or 'float64', of the columns of each input. places: store column of each.
    """
    columns = []
    for group, members in enumerate(work.equal):
        floats = any(types[i][c] == "float64" for i, c in members)
        for i, c in members:
            if i == port:
                columns.append(KeyColumn(places[c], group, floats and types[i][c] == "int64"))
    return tuple(sorted(set(columns)))


def pipeline(work: ProbedJoin, port: int, n_inputs: int) -> tuple[ProbeStep, ...]:
    """The steps of an element of input ``port``."""
    known, steps = classes_of(work, port), []
    for target in probe_orders(work, n_inputs)[port]:
        steps.append(ProbeStep(target, known))
        known |= classes_of(work, target)
    return tuple(steps)


def index_name(keys: Sequence[KeyColumn], known: int) -> str:
    """The index that is probed when some classes have values; '': there is none to use."""
    used = [key for key in keys if known >> key.group & 1]
    words = ",".join(f"{key.column}{'f' * key.as_float}" for key in used)
    return f"index {words}" if used else ""


def index_names(work: ProbedJoin, port: int, n_inputs: int, keys: Sequence[KeyColumn]) -> set[str]:
    """The indexes on an input that pipelines of the others probe."""
    steps = (step for i in range(n_inputs) if i != port for step in pipeline(work, i, n_inputs))
    return {index_name(keys, step.known) for step in steps if step.target == port} - {""}


def classes_of(work: ProbedJoin, port: int) -> int:
    """The classes that an input has columns of, as bits."""
    return sum(
        1 << group for group, members in enumerate(work.equal) if any(i == port for i, _ in members)
    )
