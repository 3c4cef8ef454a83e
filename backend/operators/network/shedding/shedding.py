"""A window under a limit: what comes, leaves, and is dropped, with a receipt for each drop. Card B3

On arrival: what leaves the window goes, the tuple comes in, and if there are more than M the one
that costs least is dropped, until there are as many as there may be.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from backend.operators.network.shedding.candidates import ByNumber, Candidates
from backend.operators.network.shedding.growth import AnsweredRuns, answered_near
from backend.operators.network.shedding.losses import losses_of
from backend.operators.network.shedding.one_step import OneStepBest
from backend.operators.network.shedding.options import ShedOptions, in_sample
from backend.operators.network.shedding.reach import ReachCandidates
from backend.operators.network.shedding.receipts import (
    ChargeKey,
    ChargeSums,
    LossLedger,
    ShedReason,
    ShedReceipt,
)
from backend.operators.network.shedding.runs import RunChange, RunIndex, ShedRun
from backend.operators.network.shedding.scored import ScoredCandidates
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import (
    EVERY_LENGTH,
    WHOLE_ANSWER,
    AnswerShape,
    RunSpan,
    TemporalTuple,
    Values,
)

_SLACK: Final = 16


class ArrivalRefused(ValueError):
    """Arrivals are numbered upwards; the message says which was not."""


class SheddingWindow:
    """The tuples of one window that are in memory, and the runs of those that should be.

    beside: all tuples of the window, kept or dropped, where they are needed
    (ShedOptions.needs_exact); else those of the audited value groups. ledger: expected losses.
    """

    def __init__(
        self,
        options: ShedOptions,
        extent: WindowExtent,
        answer: AnswerShape = WHOLE_ANSWER,
        memory: RunIndex | None = None,
    ) -> None:
        """memory: where runs are kept; None: in an index of its own. Raises ShedOptionRefused,
        WindowRefused."""
        options.check()
        extent.check()
        self.options, self.extent, self.answer = options, extent, answer
        self.memory = RunIndex(answer) if memory is None else memory
        self.beside = RunIndex(answer)
        self.ledger = LossLedger(extent)
        self.last_dropped: int | None = None
        self._unseen: int | None = None
        self.first: int | None = None
        self._newest: int | None = None
        self._reached: int | None = None
        self._open: set[int] = set()
        self._at: dict[int, int] = {}  # where windows go by another time than starts
        self._leaving: list[tuple[int, int]] = []
        self.candidates = self._candidates()

    def arrive(
        self, new: TemporalTuple, is_open: bool = False, at: int | None = None
    ) -> list[ShedReceipt]:
        """A tuple comes. is_open: it may grow, and is no candidate until it is closed. at: its
        timestamp, by which it belongs to the window; None: that is its start. Raises
        ArrivalRefused."""
        if self._newest is not None and new.number <= self._newest:
            raise ArrivalRefused(f"arrival {new.number} came after {self._newest}")
        if at is not None:
            self._at[new.number] = at
        position = self._position(new)
        self.advance(position)
        if self._reached is None or new.start > self._reached:
            self._reached = new.start
            self.candidates.reached(new.start)
        before, self._newest = self._newest, new.number
        if self._protects_newest and before in self.memory and before not in self._open:
            assert before is not None, "it is in memory"
            self.candidates.freed(before)
        is_late = self.first is not None and position < self.first
        if is_late or not self._stores(new.values):
            self._at.pop(new.number, None)
            return []
        self._take(new, position, is_open)
        return self._shed("limit")

    def _position(self, arrival: TemporalTuple) -> int:
        usual = self.extent.position(arrival.number, arrival.start)
        return self._at.get(arrival.number, usual)

    def _stores(self, values: Values) -> bool:
        """reach keeps nothing that the condition on values refuses."""
        return self.options.shed_algorithm != "reach" or self.answer.wants(values)

    def _take(self, new: TemporalTuple, position: int, is_open: bool) -> None:
        heappush(self._leaving, (position, new.number))
        before = self._answered_near(new)
        exact = self.beside.add(new) if self._is_beside(new.values) else None
        self.candidates.came(new)
        self.candidates.changed(self.memory.add(new), exact)
        self._book_growth(new, before)
        if is_open:
            self._open.add(new.number)
        elif not self._protects_newest:
            self.candidates.freed(new.number)

    def extend(self, number: int, end: int, is_open: bool = False) -> list[ShedReceipt]:
        """An open tuple is known to be valid until ``end``; it is closed unless ``is_open``, and is
        none if that is where it began. One that has left the window already is left alone."""
        if number not in self._open:
            return []
        grown = self.memory.tuple_of(number)._replace(end=end)
        if end <= grown.start:
            self._expire(number)
            return []
        before, exact, run = self._answered_near(grown), None, self.memory.run_of(number)
        lost = 0 if run is None else run.lost
        if number in self.beside:
            self.candidates.changed(None, self.beside.remove(number))
            exact = self.beside.add(grown)
        change = self.memory.remove(number)
        for each in change.runs:
            each.lost = 0
        self.candidates.changed(change, None)
        change = self.memory.add(grown)
        change.runs[0].lost += lost
        self.candidates.changed(change, exact)
        self._book_growth(grown, before)
        if is_open:
            return []
        self._open.discard(number)
        if number != self._newest or not self._protects_newest:
            self.candidates.freed(number)
        return self._shed("limit")

    @property
    def next_leaving(self) -> int | None:
        """The position of the tuple that leaves next, or of one that is gone already; None: the
        window is empty."""
        return self._leaving[0][0] if self._leaving else None

    def advance(self, position: int) -> None:
        """The window moves to where an arrival, or the time, has come to."""
        first = self.extent.first(position)
        if self.first is not None and first <= self.first:
            return
        self.first = first
        while self._leaving and self._leaving[0][0] < first:
            self._expire(heappop(self._leaving)[1])
        self.ledger.release(first)

    def _expire(self, number: int) -> None:
        self._open.discard(number)
        self._at.pop(number, None)
        if number in self.memory:
            self.candidates.went(number)
            change = self.memory.remove(number)
            for run in change.runs:
                run.lost = 0
            self.candidates.changed(change, None)
        if number in self.beside:
            self.candidates.changed(None, self.beside.remove(number))

    def turn(self, options: ShedOptions) -> list[ShedReceipt]:
        """Other options hold from here on; what is over a lower limit goes in one pass. What was
        dropped never comes back. Raises ShedOptionRefused."""
        options.check()
        if options._replace(memory_tuples=self.options.memory_tuples) == self.options:
            self.options = options  # no candidate depends on it
            return self._shed("turned")
        known = {each.number: each for each in (*self.beside, *self.memory)}
        audit = options.audit, options.audit_groups
        if not self.options.needs_exact and (
            options.needs_exact or audit != (self.options.audit, self.options.audit_groups)
        ):
            self._unseen = self.last_dropped
        self.options, self.beside = options, RunIndex(self.answer)
        for each in known.values():
            if self._is_beside(each.values):
                self.beside.add(each)
        self.candidates = self._candidates()
        return self._shed("turned")

    def is_audited(self, values: Values) -> bool:
        """Whether accuracy is measured on this value group."""
        audit = self.options.audit
        return audit == "exact" or (
            audit == "sampled" and in_sample(values, self.options.audit_groups)
        )

    def _is_beside(self, values: Values) -> bool:
        return self.options.needs_exact or self.is_audited(values)

    @property
    def exact(self) -> RunIndex | None:
        """Runs of the whole window, if they are known."""
        return self.beside if self.options.needs_exact else None

    @property
    def is_measurable(self) -> bool:
        """Whether what is beside goes back as far as the window: since options were turned, tuples
        dropped before are in neither."""
        return self._has_left(self._unseen)

    @property
    def is_whole(self) -> bool:
        """Whether nothing that was dropped would still be in the window."""
        return self._has_left(self.last_dropped)

    def _has_left(self, position: int | None) -> bool:
        return position is None or (self.first is not None and position < self.first)

    @property
    def n_exact(self) -> int:
        """Exact coalesced tuples of the answer: counted, or what drops tell of them."""
        if self.exact is not None:
            return self.exact.n_answered
        sums = self.ledger.sums
        return max(0, self.memory.n_answered - sums.extra + sums.lost)

    @property
    def n_expected(self) -> int:
        """Exact coalesced tuples of the answer and pieces beside them: what the expected accuracy
        is a share of."""
        return max(0, self.n_exact + self.ledger.sums.extra) if self.n_exact else 0

    @property
    def held(self) -> int:
        """What is limited: tuples, whatever the state form."""
        return len(self.memory)

    @property
    def limits(self) -> tuple[int, int]:
        """How much of that there may be, 0: all, and is left after shedding."""
        return self.options.memory_tuples, self.options.target_tuples

    @property
    def n_beside(self) -> int:
        """Tuples that are kept beside, and not in memory."""
        return sum(each.number not in self.memory for each in self.beside)

    @property
    def expected_accuracy(self) -> float:
        """R1, by what drops were expected to cost."""
        return 1.0 - self.ledger.loss(self.n_exact)

    @property
    def _protects_newest(self) -> bool:
        return self.options.newest_protected and self.options.shed_algorithm != "rand"

    def _candidates(self) -> Candidates:
        candidates = self._made()
        if self._reached is not None:
            candidates.reached(self._reached)
        held = {self._newest} if self._protects_newest else set()
        for each in self.memory:
            candidates.came(each)
        candidates.changed(RunChange(list(self.memory), [], list(self.memory.runs())), None)
        for each in self.memory:
            if each.number not in held | self._open:
                candidates.freed(each.number)
        return candidates

    def _made(self) -> Candidates:
        options, exact = self.options, self.exact
        if options.shed_algorithm in ("rand", "oldest"):
            return ByNumber(options)
        if options.shed_algorithm == "cals-m":
            assert exact is not None, "its options need the exact runs"
            return OneStepBest(options, self.memory, exact)
        if options.shed_algorithm == "reach":
            exact = exact if options.rho_basis == "exact" else None
            return ReachCandidates(options, self.answer.lengths, self.memory, exact)
        if exact is None or options.rho_basis == "memory":
            return ScoredCandidates(options, self.memory, self.memory)
        return ScoredCandidates(options, self.memory, exact)

    def _shed(self, reason: ShedReason) -> list[ShedReceipt]:
        receipts: list[ShedReceipt] = []
        limit, target = self.limits
        if not limit or self.held <= limit:
            return receipts
        while self.held > target and len(self.memory) > 1:
            number = self.candidates.choose()
            if number is None:
                break
            receipts.append(self._drop(number, reason))
        if len(self._leaving) > 2 * (len(self.memory) + len(self.beside)) + _SLACK:
            self._leaving = [
                entry
                for entry in self._leaving
                if entry[1] in self.memory or entry[1] in self.beside
            ]
            heapify(self._leaving)
        return receipts

    def _drop(self, number: int, reason: ShedReason) -> ShedReceipt:
        dropped, run = self.memory.tuple_of(number), self.memory.run_of(number)
        assert run is not None, "candidates are in memory"
        ((_, loss),) = losses_of(self.memory, [dropped])
        before, known = run.span, run.length + run.lost
        exact = None if self.exact is None else self.exact.run_of(number)
        beside = self._has_others(exact, run)
        self.candidates.went(number)
        change = self.memory.remove(number)
        after = sorted(change.runs, key=lambda part: part.start) if loss.pieces else []
        for part in after:
            part.lost = known - part.length
        self.candidates.changed(change, None)
        spans = tuple(part.span for part in after)
        base = known if exact is None else exact.length
        is_answered = exact is None or self.answer.takes(exact.span)
        charge = self._charge(before, spans, base, beside) if is_answered else ChargeSums(1)
        on_exact = exact is not None and self.options.rho_basis == "exact"
        rho = loss.length / (base if on_exact else before.length)
        predicted = self._book(dropped, charge, reason)
        if number not in self.beside:
            self._at.pop(number, None)
        return ShedReceipt(dropped, before, spans, loss.delta, rho, charge, predicted, reason)

    def _has_others(self, exact: ShedRun | None, run: ShedRun) -> bool:
        """Whether another piece of its exact run is in the answer."""
        if exact is None:
            return False
        pieces = self.memory.within(exact.values, exact.start, exact.end)
        return any(piece is not run and self.answer.takes(piece.span) for piece in pieces)

    def _charge(
        self, before: RunSpan, after: tuple[RunSpan, ...], base: int, beside: bool
    ) -> ChargeSums:
        """beside: there are other pieces of the same exact tuple; how many does not matter."""
        was = before.length if self.answer.takes(before) else 0
        left = [span.length for span in after if self.answer.takes(span)]
        k, k_left = beside + bool(was), beside + len(left)
        extra = max(1, k_left) - max(1, k)
        return ChargeSums(1, (was - sum(left)) / base, extra, min(1, k) - min(1, k_left))

    def _answered_near(self, new: TemporalTuple) -> AnsweredRuns | None:
        """None: nothing is missing, what is answered does not depend on lengths, or exact runs are
        not known."""
        if self.is_whole or self.answer.lengths == EVERY_LENGTH or self.exact is None:
            return None
        return answered_near(new, self.exact, self.memory, self.answer)

    def _book_growth(self, new: TemporalTuple, before: AnsweredRuns | None) -> None:
        """Charge what drops cost only now: their run was too short for the answer when they went
        (or what is left of it was), and by a tuple that came it no longer is."""
        after = None if before is None else self._answered_near(new)
        if before is None or after is None or before[:2] == after[:2]:
            return
        charge = after.missing.plus(before.missing, -1)
        if any(charge):
            self.ledger.book(self._position(new), ChargeKey(new.values, "limit"), charge)

    def _book(self, dropped: TemporalTuple, charge: ChargeSums, reason: ShedReason) -> float:
        """Charge a drop; the accuracy it is expected to cost."""
        position = self._position(dropped)
        self.last_dropped = max(position, self.last_dropped or position)
        before = self.expected_accuracy
        self.ledger.book(position, ChargeKey(dropped.values, reason), charge)
        return before - self.expected_accuracy
