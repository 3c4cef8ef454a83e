"""What a window that sheds tells of a batch: sizes, accuracy, receipts, value groups. Card C2"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from backend.model.draws import seeds_of
from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.strings import Strings
from backend.operators.network.relational.keys import KeyTable
from backend.operators.network.shedding.accuracy import AccuracyParts, total
from backend.operators.network.shedding.audits import MeasuredAccuracy, estimated
from backend.operators.network.shedding.forms import FormBytes
from backend.operators.network.shedding.receipts import ChargeSums, ShedReceipt
from backend.operators.network.shedding.temporal import RunSpan, TemporalTuple, Values
from backend.operators.network.shedding.words import (
    ANSWERED_MEMORY,
    BESIDE,
    GROUP_AUDITED,
    GROUP_CHARGES,
    GROUP_DROPS,
    GROUP_EXTRA,
    IS_BUILT,
    MEMORY,
    N_MEMORY,
    N_RECEIPTS,
    N_SPANS,
    R_DELTA,
    R_END,
    R_EXTRA,
    R_FROM,
    R_GROUP,
    R_LOSS,
    R_LOST,
    R_NUMBER,
    R_PIECES,
    R_REASON,
    R_RHO,
    R_SHARE,
    R_SPANS,
    R_START,
    R_UNTIL,
    RUNS_MEMORY,
    SUM_EXTRA,
    Floats,
    ShedTold,
)
from backend.operators.network.temporal.shed_groups import (
    MOST_GROUPS,
    MOST_PIECES,
    RunPiece,
    ShedGroup,
    bounded,
    read_values,
)
from backend.operators.network.temporal.shed_looks import ShedLooks
from backend.operators.network.temporal.shed_measure import N_COUNTS, measure, pieces_of
from backend.operators.network.temporal.shed_state import ShedState
from backend.operators.network.temporal.shed_tuning import MOST_RECEIPTS, ShedProfile

#: Pieces of a value group that are counted, about.
_MOST_COUNTED: Final = 250


class Drops(NamedTuple):
    """Some receipts, and the pieces that runs fell into."""

    receipts: Ints
    shares: Floats
    spans: Ints


def dropped(out: ShedTold) -> Drops:
    """What the kernel has told."""
    n = out.done[N_RECEIPTS]
    return Drops(out.receipts[:n], out.shares[:n], out.spans[: out.done[N_SPANS]])


def shed_profile(
    state: ShedState,
    table: KeyTable,
    looks: ShedLooks,
    drops: Sequence[Drops],
    n_arrived: int,
    sizes: FormBytes,
    fields: Sequence[Attribute],
    strings: Strings,
) -> ShedProfile:
    """Of a batch; values as people read them."""
    facts = state.facts
    exact, curve = state.n_exact, looks.curve
    expected = exact + int(facts[SUM_EXTRA]) if exact else 0
    receipts, groups = _sampled(drops, table), shed_groups(state, table, exact)
    packed = [receipt.dropped.values for receipt in receipts] + [each.values for each in groups]
    packed += () if curve is None else curve.values
    read = read_values(packed, fields, strings)
    named = zip(receipts, read, strict=False)
    grouped = zip(groups, read[len(receipts) :], strict=False)
    return ShedProfile(
        n_arrived=n_arrived,
        n_dropped=sum(len(part.receipts) for part in drops),
        n_resident=int(facts[N_MEMORY]),
        n_window=state.n_window,
        n_runs=int(facts[RUNS_MEMORY]),
        tuple_bytes=sizes.tuples,
        run_bytes=sizes.runs,
        audit_bytes=state.beside_bytes,
        expected=state.expected_accuracy,
        n_expected=max(0, expected),
        measured=measured(state, table),
        is_whole=state.is_whole,
        receipts=tuple(
            each._replace(dropped=each.dropped._replace(values=own)) for each, own in named
        ),
        groups=tuple(each._replace(values=own) for each, own in grouped),
        curve=curve and curve._replace(values=tuple(read[len(receipts) + len(groups) :])),
        race=looks.race,
        whole_from=state.whole_from,
    )


# ---------------------------------------------------------------------- accuracy


def measured(state: ShedState, table: KeyTable) -> MeasuredAccuracy | None:
    """Of what is in the window now; None: nothing is kept beside, or not since the window's first
    tuple, or no group is in the sample."""
    options, facts = state.options, state.facts
    if options.audit == "off" or not state.is_measurable:
        return None
    at = BESIDE if facts[IS_BUILT] else MEMORY
    live = table.live()
    roots, uses = state.shed.roots[live, int(at == BESIDE)], state.groups_array[live]
    groups = live[(roots > 0) & (uses[:, GROUP_AUDITED] == 2)]
    is_sample = options.audit == "sampled"
    if is_sample and not len(groups):
        return None
    if is_sample or facts[IS_BUILT]:
        counts, sums = np.zeros((len(groups), N_COUNTS), np.int64), np.zeros((len(groups), 2))
        measure(groups, at, state.rules, state.shed, counts, sums)
    else:  # nothing lacks
        n = float(facts[ANSWERED_MEMORY])
        counts, sums = np.zeros((1, N_COUNTS), np.int64), np.array([[n, n]])
        counts[0, [0, 1, 2, 4]] = facts[ANSWERED_MEMORY]
    if not is_sample:
        counts, sums = counts.sum(axis=0, keepdims=True), sums.sum(axis=0, keepdims=True)
    compared = [
        AccuracyParts(*own[:4], *shares, *own[4:])
        for own, shares in zip(counts.tolist(), sums.tolist(), strict=True)
    ]
    sampled = 1 / options.audit_groups if is_sample else 1.0
    accuracy, alike = (
        replace(estimated(compared, metric, sampled), n=len(groups))
        for metric in (options.accuracy_metric, "R1")
    )
    return MeasuredAccuracy(total(compared), accuracy, len(groups), alike)


# ---------------------------------------------------------------------- receipts


def _sampled(drops: Sequence[Drops], table: KeyTable) -> list[ShedReceipt]:
    """Those of the lowest ranks of their numbers."""
    if not drops:
        return []
    numbers = np.concatenate([part.receipts[:, R_NUMBER] for part in drops])
    hashes = seeds_of(0, numbers)
    most = np.argsort(~hashes, kind="stable")[:MOST_RECEIPTS].tolist()
    bounds = np.cumsum([0, *(len(part.receipts) for part in drops)])
    words = table.words.reshape(-1, table.width)
    receipts = []
    for place in most:
        part = int(np.searchsorted(bounds, place, side="right")) - 1
        receipts.append(_receipt(drops[part], place - int(bounds[part]), words))
    return receipts


def _receipt(drops: Drops, place: int, words: Ints) -> ShedReceipt:
    row, shares = drops.receipts[place].tolist(), drops.shares[place].tolist()
    values: Values = tuple(words[row[R_GROUP]].tolist())
    spans = drops.spans[row[R_SPANS] : row[R_SPANS] + row[R_PIECES]].tolist()
    return ShedReceipt(
        TemporalTuple(row[R_NUMBER], values, row[R_START], row[R_END]),
        RunSpan(values, row[R_FROM], row[R_UNTIL]),
        tuple(RunSpan(values, start, end) for start, end in spans),
        row[R_DELTA],
        shares[R_RHO],
        ChargeSums(1, shares[R_SHARE], row[R_EXTRA], row[R_LOST]),
        shares[R_LOSS],
        "limit" if row[R_REASON] == 1 else "turned",
    )


# ---------------------------------------------------------------------- value groups


def shed_groups(state: ShedState, table: KeyTable, exact: int) -> tuple[ShedGroup, ...]:
    """The groups of which most was shed, those first."""
    uses, live = state.groups_array, table.live()
    charged = live[uses[live, GROUP_CHARGES] > 0]
    if not len(charged):
        return ()
    n_shed, words = uses[charged, GROUP_DROPS], table.words.reshape(-1, table.width)[charged]
    order = np.lexsort((*words.T[::-1], -n_shed))[:MOST_GROUPS]
    below = exact + int(state.facts[SUM_EXTRA])
    scale = 1 / below if exact and below > 0 else 0.0
    losses = (state.owing.owed[charged] + uses[charged, GROUP_EXTRA]) * scale
    groups = []
    for place in order.tolist():
        values = tuple(words[place].tolist())
        pieces, n_pieces = _pieces(state, int(charged[place]))
        own = int(n_shed[place]), float(losses[place])
        groups.append(ShedGroup(values, *own, pieces, n_pieces))
    return bounded(groups)


def _pieces(state: ShedState, group: int) -> tuple[tuple[RunPiece, ...], int]:
    """The last pieces of its runs, and how many there are, as far as they are counted."""
    is_known = state.options.needs_exact or state.groups_array[group, GROUP_AUDITED] == 2
    at = BESIDE if is_known and state.facts[IS_BUILT] else MEMORY
    rows = np.zeros((MOST_PIECES, 4), np.int64)
    n = int(pieces_of(group, at, _MOST_COUNTED, state.shed, rows))
    pieces: list[RunPiece] = []
    for low, high, start, end in rows[:n][::-1].tolist():
        left = (None, None) if (start, end) == (0, -1) else (start, end)
        pieces.append((low, high, *left) if is_known else (None, None, *left))
    return tuple(pieces), n
