"""What becomes of the tuples that are there when the configuration changes. [WRA13] §8, card A8"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from backend.operators.network.eddy.tuning import StateReport
from backend.systems.amri.sides import Sides, compared
from storage.vocabulary.amri_costs import (
    Bits,
    Candidates,
    Floats,
    IndexCosts,
    SearchLoad,
    WorkCosts,
)

MigrationMode: TypeAlias = Literal["nothing", "all", "partial"]


class Partition(NamedTuple):
    """first: number of its first arrival; end: one more than its last, so far; bits: its IC; is
    open: tuples still come to it; shard: in which it is numbered."""

    number: int
    first: int
    end: int
    bits: Bits
    is_open: bool
    shard: int = 0

    @property
    def n_tuples(self) -> int:
        return self.end - self.first


class SliceChoice(NamedTuple):
    """Of a partition: Eq. 3. sides: what its search would save in its life against what moving
    costs; requests: that are expected to search it. break_even: with how many moving begins to
    pay; None: with none."""

    partition: Partition
    target: Bits
    requests: float
    sides: Sides
    break_even: int | None


class MeasuredMoves:
    """What moving a tuple of a state took, in the unit of counted work: time of its migrations for
    each tuple against time of all else for each unit of what its eddy did."""

    def __init__(self) -> None:
        self._work_ns = self._work = self._moving_ns = self._moved = 0

    def observe(self, work_ns: int, work: int, report: StateReport) -> None:
        """Of a batch; work_ns: without migrations."""
        self._work_ns, self._work = self._work_ns + work_ns, self._work + work
        self._moving_ns += report.migration_ns
        self._moved += report.migrated

    def priced(self, model: IndexCosts) -> IndexCosts:
        """With what was measured; with counted costs until a tuple was moved."""
        if not self._moved or not self._work_ns:
            return model
        move = self._moving_ns / self._moved * self._work / self._work_ns
        return replace(model, costs=replace(model.costs, move=move))

    def state(self) -> list[int]:
        """As JSON-typed data."""
        return [self._work_ns, self._work, self._moving_ns, self._moved]

    def restore(self, state: Sequence[int]) -> None:
        """Go on where ``state`` was taken."""
        self._work_ns, self._work, self._moving_ns, self._moved = state


def slice_costs(load: SearchLoad, model: IndexCosts, n_tuples: int, bits: Bits) -> float:
    """C_s for one request to a slice of so many tuples: Σ F (N_AP C_h + n / 2^B_ap C_c)."""
    of_slice = replace(load, arrivals=1.0, window=float(n_tuples), windows={})
    costs = replace(model, segments=1.0).request_costs(of_slice, np.array([bits], dtype=np.int64))
    return float((costs @ of_slice.shares)[0])


def live_partitions(report: StateReport, size: int) -> list[Partition]:
    """The partitions of a state, of so many tuples; the last one of each shard is open."""
    rows = report.partitions
    last = {row.shard: row.number for row in sorted(rows, key=lambda row: row.number)}
    return [
        Partition(
            row.number, row.number * size, row.number * size + row.n_tuples, row.bits,
            row.number == last[row.shard], row.shard,
        )
        for row in rows
    ]  # fmt: skip


def moving_cost(costs: WorkCosts, n_tuples: int, old: Bits, new: Bits) -> float:
    """C_m = n (N_A(new) C_h + C_i + N_A(old) C_h + C_d), or as it was measured; 0 to the same."""
    if old == new:
        return 0.0
    indexed = sum(bits > 0 for bits in (*old, *new))
    counted = indexed * costs.hash + costs.insert + costs.delete
    return n_tuples * (counted if costs.move is None else costs.move)


def switching_prices(live: Sequence[Partition], costs: WorkCosts, candidates: Candidates) -> Floats:
    """float64[candidates]: D, of moving all that is stored to each of them."""
    indexed = np.count_nonzero(candidates, axis=1)
    prices = np.zeros(len(candidates))
    for partition in live:
        counted = (
            (indexed + np.count_nonzero(partition.bits)) * costs.hash + costs.insert + costs.delete
        )
        each = counted if costs.move is None else costs.move
        prices += partition.n_tuples * each * (candidates != np.array(partition.bits)).any(axis=1)
    return prices


def requests_left(
    partition: Partition, n_arrivals: int, window: float, per_arrival: float
) -> float:
    """Requests that will search a partition until it may go: its last tuple stays in the window for
    W more arrivals (card C1.7). per_arrival: requests to the state for each arrival to it."""
    return per_arrival * max(0.0, partition.end + window - n_arrivals)


def slice_choice(
    load: SearchLoad, model: IndexCosts, partition: Partition, target: Bits, requests: float
) -> SliceChoice:
    """B_m = C_s(IC) - (C_s(BIC) + C_m) > 0, in the other order: what is saved > C_m."""
    n, old = partition.n_tuples, partition.bits
    saved = slice_costs(load, model, n, old) - slice_costs(load, model, n, target)
    price = moving_cost(model.costs, n, old, target)
    sides = compared("search saved in the slice's life", requests * saved, price)
    if old == target:
        sides = sides._replace(verdict="kept")
    break_even = int(price // saved) + 1 if saved > 0 and old != target else None
    return SliceChoice(partition, target, requests, sides, break_even)


def in_all_shards(choices: Iterable[SliceChoice]) -> tuple[SliceChoice, ...]:
    """One choice for the partitions of a number, which migrate together in all shards: what is
    saved in all of them against what moving them costs. The largest one stands for them."""
    by_number: dict[int, list[SliceChoice]] = {}
    for choice in choices:
        by_number.setdefault(choice.partition.number, []).append(choice)
    return tuple(_together(of) for of in by_number.values())


def _together(choices: Sequence[SliceChoice]) -> SliceChoice:
    if len(choices) == 1:
        return choices[0]
    largest = max(choices, key=lambda choice: choice.partition.n_tuples)
    saved = sum(choice.sides.lhs for choice in choices)
    price = sum(choice.sides.rhs for choice in choices)
    requests = sum(choice.requests for choice in choices)
    n_tuples = sum(choice.partition.n_tuples for choice in choices)
    return SliceChoice(
        largest.partition._replace(end=largest.partition.first + n_tuples),
        largest.target,
        requests,
        compared(largest.sides.metric, saved, price),
        int(price * requests // saved) + 1 if saved > 0 else None,
    )


def slices_to_move(mode: MigrationMode, choices: Sequence[SliceChoice]) -> list[SliceChoice]:
    """Those that are migrated, in the order in which they are worth most by tuple moved; of equal
    ones the newest first. None to the configuration that it has."""
    if mode == "nothing":
        return []
    moving = [
        choice
        for choice in choices
        if choice.partition.bits != choice.target and (mode == "all" or choice.sides.holds)
    ]
    return sorted(moving, key=lambda choice: (-_worth(choice), -choice.partition.number))


def _worth(choice: SliceChoice) -> float:
    return (choice.sides.lhs - choice.sides.rhs) / max(1, choice.partition.n_tuples)
