"""What becomes of the tuples that are there when the configuration changes. [WRA13] §8, card A8"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from backend.operators.network.eddy.tuning import EddyProfile, StateReport
from backend.operators.network.eddy.words import BUCKETS, CODES_READ
from backend.operators.network.joins.join_kernel import PROBES, SCANNED
from backend.systems.amri.sides import Sides, compared
from storage.vocabulary.amri_costs import (
    CODE_READ,
    CODES_A_BUCKET,
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


#: A code that is read is taken to cost at least such a share of a tuple compared, and at most.
CODE_RANGE: Final = (0.01, 1.0)
#: Of squares: batches in which codes and other work differ by less tell nothing of either.
_APART: Final = 1e-4


class MeasuredCosts:
    """What reading a code took, and moving a tuple of a state, in the unit of counted work: of the
    time of its eddy by least squares over batches what a code takes, and what a unit of all else;
    time of migrations for each tuple."""

    def __init__(self) -> None:
        self._squares = np.zeros((2, 3))
        self._moving_ns = self._moved = 0

    def observe(self, work_ns: int, work: int, codes: int, report: StateReport) -> None:
        """Of a batch; work_ns, work: without migrations, work without codes read in vain."""
        done = np.array([work, codes, work_ns], dtype=np.float64)
        self._squares += done[:2, None] * done[None, :]
        self._moving_ns += report.migration_ns
        self._moved += report.migrated

    def priced(self, model: IndexCosts) -> IndexCosts:
        """With what was measured; moving is counted until a tuple was moved."""
        unit_ns, code = self._unit()
        if not unit_ns:
            return model
        costs = model.costs
        if costs.code:
            costs = replace(costs, code=code, bucket=CODES_A_BUCKET * code)
        if self._moved:
            costs = replace(costs, move=self._moving_ns / self._moved / unit_ns)
        return replace(model, costs=costs)

    def _unit(self) -> tuple[float, float]:
        """ns of a unit, 0 = nothing is known, and the share of it that a code takes."""
        (work, both, work_ns), (_, codes, codes_ns) = self._squares.tolist()
        apart = work * codes - both * both
        if apart > _APART * work * codes:
            unit = (codes * work_ns - both * codes_ns) / apart
            code = (work * codes_ns - both * work_ns) / apart
            if unit > 0:
                return unit, min(CODE_RANGE[1], max(CODE_RANGE[0], code / unit))
        spent = work + CODE_READ * both
        return (work_ns / spent if spent else 0.0), CODE_READ

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        return [self._squares.tolist(), self._moving_ns, self._moved]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on where ``state`` was taken."""
        squares, self._moving_ns, self._moved = state
        self._squares = np.array(squares)


def measure(took: Sequence[MeasuredCosts], profile: EddyProfile) -> None:
    """Of the states of an eddy what a batch took, and its migrations apart."""
    work_ns = profile.processor_ns - sum(of.migration_ns for of in profile.states)
    sums = profile.requests.sum(axis=(0, 1))
    codes = int(sums[CODES_READ])
    work = int(sums[[PROBES, SCANNED, BUCKETS]].sum() + profile.came.sum()) - codes
    for own, report in zip(took, profile.states, strict=True):
        own.observe(work_ns, work, codes, report)


def slice_costs(load: SearchLoad, model: IndexCosts, n_tuples: int, bits: Bits) -> float:
    """C_s for one request to a slice of so many tuples: Σ F (N_AP C_h + n / 2^B_ap C_c)."""
    return SliceCosts(load, model, [(n_tuples, bits)]).of(n_tuples, bits)


class SliceCosts:
    """``slice_costs`` of one load, worked out together for slices of so many tuples with bits."""

    def __init__(
        self, load: SearchLoad, model: IndexCosts, slices: Iterable[tuple[int, Bits]]
    ) -> None:
        self.moving, every = model.costs, [*dict.fromkeys(slices)]
        rows = np.array([bits for _, bits in every], dtype=np.int64).reshape(-1, load.n)
        priced = model.of_slices(load, [n for n, _ in every], rows)
        costs: list[float] = (priced.requests @ load.shares).tolist()
        self._known = dict(zip(every, costs, strict=True))

    def of(self, n_tuples: int, bits: Bits) -> float:
        """C_s of such a slice."""
        return self._known[n_tuples, bits]


def live_partitions(report: StateReport, size: int) -> tuple[Partition, ...]:
    """The partitions of a state, of so many tuples; the last one of each shard is open."""
    rows = report.partitions
    last = {row.shard: row.number for row in sorted(rows, key=lambda row: row.number)}
    return tuple(
        Partition(
            row.number, row.number * size, row.number * size + row.n_tuples, row.bits,
            row.number == last[row.shard], row.shard,
        )
        for row in rows
    )  # fmt: skip


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
    prices, held = np.zeros(len(candidates)), dict[Bits, int]()
    for partition in live:
        held[partition.bits] = held.get(partition.bits, 0) + partition.n_tuples
    for bits, n_tuples in held.items():
        counted = (indexed + np.count_nonzero(bits)) * costs.hash + costs.insert + costs.delete
        each = counted if costs.move is None else costs.move
        prices += n_tuples * each * (candidates != np.array(bits)).any(axis=1)
    return prices


def requests_left(
    partition: Partition, n_arrivals: int, window: float, per_arrival: float
) -> float:
    """Requests that will search a partition until it may go: its last tuple stays in the window for
    W more arrivals (card C1.7). per_arrival: requests to the state for each arrival to it."""
    return per_arrival * max(0.0, partition.end + window - n_arrivals)


def slice_choice(
    costs: SliceCosts, partition: Partition, target: Bits, requests: float
) -> SliceChoice:
    """B_m = C_s(IC) - (C_s(BIC) + C_m) > 0, in the other order: what is saved > C_m."""
    n, old = partition.n_tuples, partition.bits
    saved = costs.of(n, old) - costs.of(n, target)
    price = moving_cost(costs.moving, n, old, target)
    sides = compared("search saved in the slice's life", requests * saved, price)
    if old == target:
        sides = sides._replace(verdict="kept")
    break_even = int(price // saved) + 1 if saved > 0 and old != target else None
    return SliceChoice(partition, target, requests, sides, break_even)


def slice_choices(
    load: SearchLoad,
    model: IndexCosts,
    live: Sequence[Partition],
    target: Bits,
    held: Sequence[float],
    per_arrival: float,
) -> tuple[SliceChoice, ...]:
    """What becomes of the partitions of a state that have other bits. held: tuples by shard;
    per_arrival: as of ``requests_left``."""
    other = [slice for slice in live if slice.bits != target]
    if not other:
        return ()
    pairs = [(slice.n_tuples, bits) for slice in other for bits in (slice.bits, target)]
    costs = SliceCosts(load, model, pairs)
    ends = {slice.shard: slice.end for slice in sorted(live, key=lambda slice: slice.end)}
    return in_all_shards(
        slice_choice(
            costs, slice, target,
            requests_left(slice, ends[slice.shard], held[slice.shard], per_arrival),
        )
        for slice in other
    )  # fmt: skip


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
