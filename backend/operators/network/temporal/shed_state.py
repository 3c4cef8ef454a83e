"""The window of an operator that sheds, in regions: tuples, runs, candidates and charges as arrays.

A process that goes on with the regions drops the same tuples as the one before it.
"""

from __future__ import annotations

import json
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Ints, Signs
from backend.operators.network.core.regions import Regions
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.network.shedding.options import ShedOptions, in_sample
from backend.operators.network.shedding.rules import ShedRules, shed_rules
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import ValidCondition
from backend.operators.network.shedding.words import (
    ANSWERED_BESIDE,
    ANSWERED_MEMORY,
    CHARGE_WORDS,
    CHARGES_FREE,
    CHARGES_USED,
    DROPPED,
    ENDS,
    EVENT,
    FIRST,
    GOES_ON,
    GROUP_AUDITED,
    GROUP_CHARGES,
    GROUP_USES,
    GROUP_WORDS,
    HAS_DROPPED,
    HAS_FIRST,
    HAS_UNSEEN,
    IS_BUILT,
    IS_CODED,
    MOST_PARTS,
    N_ALONE,
    N_BESIDE,
    N_DONE,
    N_FACTS,
    N_MEMORY,
    N_PENDING,
    N_TEXT,
    NUMBERED,
    OPENS,
    RECEIPT_SHARES,
    RECEIPT_WORDS,
    RUN_BYTES,
    SHEDDING,
    SUM_EXTRA,
    SUM_LOST,
    TOLD_WORDS,
    TURNED,
    UNSEEN,
    ChargeArrays,
    ShedArrays,
    ShedTold,
)
from backend.operators.network.temporal.shed_built import rebuild
from backend.operators.network.temporal.shed_charges import expected_loss, link_again
from backend.operators.network.temporal.shed_measure import count_answered
from backend.operators.network.temporal.shed_rows import ShedRows
from backend.operators.network.temporal.shed_tuning import ShedTuning

_FIRST: Final = 64


class ShedStateRefused(ValueError):
    """A state that cannot be gone on with; the message says why."""


class ShedState:
    """Of one operator: what its window holds, and the rules in force."""

    def __init__(
        self,
        regions: Regions,
        window: WindowOp,
        groups: KeyTable,
        n_values: int,
        tuning: ShedTuning,
        begin: int,
    ) -> None:
        """n_values: of a tuple, without its valid time; begin: the tick at which another tuning
        comes into force. Raises ShedOptionRefused, ShedStateRefused."""
        self._regions, self._groups, self._extent = regions, groups, window_extent(window)
        self.facts: Ints = regions.array("facts", "int64", N_FACTS)
        if len(self.facts) != N_FACTS:
            raise ShedStateRefused("the window's state is of another version; begin a run anew")
        self._rows = ShedRows(regions, self.facts, tuning.options.as_runs)
        self._n_values = n_values
        self._roots = SlotValues(regions, "roots", "int64", groups, 2)
        self._charges = regions.array("charges", "int64", _FIRST * CHARGE_WORDS)
        self._rhos = regions.array("rhos", "float64", _FIRST)
        self._buckets = regions.array("buckets", "int64", 2 * _FIRST)
        self._parts = regions.array("parts", "int64", 2 * MOST_PARTS)
        self._total = regions.array("total", "float64", 1)
        self._uses = SlotValues(regions, "uses", "int64", groups, GROUP_WORDS)
        self._owed = SlotValues(regions, "owed", "float64", groups)
        self._pending = regions.array("pending", "int64", _FIRST * TOLD_WORDS)
        self._text = regions.array("text", "uint8", _FIRST)
        self.options, self.lengths = tuning.options, tuning.lengths
        self.is_turned = False
        if self.facts[IS_CODED]:
            self._read_runs()
        self._turn(tuning, begin)

    def _read_runs(self) -> None:
        """Rows, and what they were under the rules of before."""
        now = self.options, self.lengths
        options, lengths = json.loads(self._text[: self.facts[N_TEXT]].tobytes())
        self.options, self.lengths = ShedOptions(*options), ValidCondition(*lengths)
        self._rows.read(self.rules.by_rows, self._roots.array.reshape(-1, 2))
        if self.facts[IS_BUILT]:
            self.rebuild(True)
        self.options, self.lengths = now

    def keep(self) -> None:
        """A batch is over: leave the state in its form."""
        self._rows.keep(self.rules, self._roots.array.reshape(-1, 2))

    # ------------------------------------------------------------------ rules

    def _turn(self, tuning: ShedTuning, begin: int) -> None:
        """Options that were turned hold before what comes next."""
        tuning.options.check()
        text = json.dumps([tuning.options, tuning.lengths]).encode()
        before = self._text[: self.facts[N_TEXT]].tobytes()
        if text == before:
            return
        self._text = self._regions.resized("text", len(text))
        self._text[: len(text)] = np.frombuffer(text, np.uint8)
        self.facts[N_TEXT] = len(text)
        self.is_turned = bool(before)
        if not before:
            return
        options, _ = json.loads(before)
        self.facts[ANSWERED_MEMORY] = count_answered(self.rules, self.shed)
        if tuning.options != ShedOptions(*options):
            self._turned(ShedOptions(*options), begin)
        elif self.facts[IS_BUILT]:
            self.rebuild(True)

    def _turned(self, before: ShedOptions, begin: int) -> None:
        options, facts = self.options, self.facts
        audit = options.audit, options.audit_groups
        if not before.needs_exact and (
            options.needs_exact or audit != (before.audit, before.audit_groups)
        ):
            facts[HAS_UNSEEN], facts[UNSEEN] = facts[HAS_DROPPED], facts[DROPPED]
        self.groups_array[:, GROUP_AUDITED] = 0
        self.audit(self._groups.live())
        facts[RUN_BYTES] = self.run_bytes
        rules = self.rules
        is_over = 0 < rules.limit < facts[rules.held]
        is_same = options._replace(memory_tuples=before.memory_tuples) == before
        if not is_same or not facts[IS_BUILT]:  # no candidate depends on the limit
            self.rebuild(is_over or not self.is_whole)
        facts[SHEDDING] = TURNED * is_over
        facts[EVENT] = max(facts[EVENT], begin)

    @property
    def rules(self) -> ShedRules:
        """As the kernel takes them."""
        return shed_rules(self.options, self._extent, self.lengths, self._n_values)

    @property
    def run_bytes(self) -> int:
        """What is in memory takes as runs, counted."""
        return self._rows.bytes_as_runs(self.rules, self._roots.array.reshape(-1, 2))

    @property
    def beside_bytes(self) -> int:
        """What is kept beside takes in the form of the state."""
        return self._rows.beside_bytes(self.rules)

    def rebuild(self, builds: bool) -> None:
        """Candidates, and what is kept beside, are others, or are not needed."""
        rebuild(builds, self.rules, self.shed, self.owing, told_room(1))

    def settle(self) -> None:
        """Have neither where the window lacks nothing."""
        if self.facts[IS_BUILT] and self.is_whole:
            self.rebuild(False)

    def audit(self, slots: Ints) -> None:
        """Find out which of some value groups accuracy is measured on."""
        uses = self.groups_array
        words = self._groups.words.reshape(-1, self._groups.width)
        for slot in slots[uses[slots, GROUP_AUDITED] == 0].tolist():
            is_in = self.options.audit == "exact" or (
                self.options.audit == "sampled"
                and in_sample(tuple(words[slot].tolist()), self.options.audit_groups)
            )
            uses[slot, GROUP_AUDITED] = 1 + is_in

    # ------------------------------------------------------------------ arrays

    @property
    def shed(self) -> ShedArrays:
        """Tuples and candidates."""
        return self._rows.arrays(self._roots.array.reshape(-1, 2))

    @property
    def owing(self) -> ChargeArrays:
        """Charges of what was dropped."""
        return ChargeArrays(
            self._charges.reshape(-1, CHARGE_WORDS),
            self._rhos,
            self._buckets,
            self._parts.reshape(-1, 2),
            self.groups_array,
            self._owed.array,
            self._total,
        )

    @property
    def groups_array(self) -> Ints:
        """int64[groups, GROUP_WORDS]."""
        uses: Ints = self._uses.array.reshape(-1, GROUP_WORDS)
        return uses

    def make_room(self, n_more: int) -> None:
        """For so many tuples more, and for a charge."""
        self._rows.make_room(int(self.facts[N_MEMORY] + self.facts[N_ALONE]) + n_more)
        if self.facts[CHARGES_USED] == len(self._rhos) and not self.facts[CHARGES_FREE]:
            size = 2 * len(self._rhos)
            self._charges = self._regions.resized("charges", size * CHARGE_WORDS)
            self._rhos = self._regions.resized("rhos", size)
            self._buckets = self._regions.resized("buckets", 2 * size)
            link_again(self.owing)

    def kinds(self, numbers: Ints, signs: Signs) -> Ints:
        """What arrivals of readings are: the first of a number opens it, one with - ends it."""
        before = np.maximum.accumulate([self.facts[NUMBERED] - 1, *numbers])
        self.facts[NUMBERED] = before[-1] + 1
        return np.where(signs < 0, ENDS, np.where(numbers > before[:-1], OPENS, GOES_ON))

    @property
    def pending(self) -> Ints:
        """int64[n, TOLD_WORDS]: changes of ticks that are not over."""
        rows: Ints = self._pending[: self.facts[N_PENDING] * TOLD_WORDS].reshape(-1, TOLD_WORDS)
        return rows

    def keep_pending(self, rows: Ints) -> None:
        """These and no others."""
        if rows.size > len(self._pending):
            self._pending = self._regions.resized("pending", 2 * rows.size)
        self._pending[: rows.size] = rows.ravel()
        self.facts[N_PENDING] = len(rows)

    def release_groups(self) -> None:
        """Forget value groups that nothing names any more."""
        uses, live = self.groups_array, self._groups.live()
        is_named = uses[live, GROUP_USES] + uses[live, GROUP_CHARGES] > 0
        gone = np.setdiff1d(live[~is_named], self.pending[:, 1])
        uses[gone] = 0
        self._owed.array[gone] = 0
        self._groups.release(gone)

    # ------------------------------------------------------------------ facts

    @property
    def is_whole(self) -> bool:
        """Whether nothing that was dropped would still be in the window."""
        return self._has_left(HAS_DROPPED, DROPPED)

    @property
    def whole_from(self) -> int | None:
        """The tick, or the arrival, with which it is whole again if nothing more is dropped; None:
        it is."""
        return None if self.is_whole else self._extent.passed(int(self.facts[DROPPED]))

    @property
    def is_measurable(self) -> bool:
        """Whether what is beside goes back as far as the window."""
        return self._has_left(HAS_UNSEEN, UNSEEN)

    @property
    def n_window(self) -> int | None:
        """Tuples that it would hold without a limit, if they are known."""
        if not self.options.needs_exact or not self.is_measurable:
            return None
        return int(self.facts[N_BESIDE if self.facts[IS_BUILT] else N_MEMORY])

    @property
    def n_exact(self) -> int:
        """Exact coalesced tuples of the answer: counted, or what drops tell of them."""
        facts = self.facts
        if self.options.needs_exact:
            return int(facts[ANSWERED_BESIDE if facts[IS_BUILT] else ANSWERED_MEMORY])
        return max(0, int(facts[ANSWERED_MEMORY] - facts[SUM_EXTRA] + facts[SUM_LOST]))

    @property
    def expected_accuracy(self) -> float:
        """R1, by what drops were expected to cost."""
        return 1.0 - float(expected_loss(self.n_exact, self.owing, self.facts))

    def _has_left(self, has: int, position: int) -> bool:
        facts = self.facts
        return not facts[has] or bool(facts[HAS_FIRST] and facts[position] < facts[FIRST])


def told_room(n: int) -> ShedTold:
    """For so many changes, receipts and pieces."""
    return ShedTold(
        np.empty((n, TOLD_WORDS), np.int64),
        np.empty((n, RECEIPT_WORDS), np.int64),
        np.empty((n, RECEIPT_SHARES), np.float64),
        np.empty((n, 2), np.int64),
        np.zeros(N_DONE, np.int64),
    )


def window_extent(window: WindowOp) -> WindowExtent:
    """Of a window of time or of rows. Raises ValueError: it is another."""
    if window.kind not in ("range", "rows"):
        raise ValueError(f"a {window.kind} window does not shed; allowed: range, rows")
    extent = WindowExtent(window.kind, window.size, window.slide)
    extent.check()
    return extent
