"""An operator network at work: queues, operators, and the loop that schedules them.

A batch is played in instants of event time. At each instant the tuples that are due come in, and
operators run for as long as the processor has time (``Schedule.load``); what is left waits, and is
seen in the queues' curves. At the end of the batch all queues are emptied. What comes out does not
depend on any of this.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.core.blocks import FOREVER, NEVER, Block, empty
from backend.operators.network.core.contract import (
    AnswerTaker,
    ElementTap,
    KeepingOperator,
    NetworkOperator,
    ProfiledOperator,
    Surroundings,
    Watch,
)
from backend.operators.network.core.instants import Curves, instants
from backend.operators.network.core.job import NetworkJob, queue_id
from backend.operators.network.core.queues import Queue
from backend.operators.network.core.reports import NetworkReport, OperatorCounts
from backend.operators.network.core.scheduling import Ready, choose
from backend.operators.network.core.work import PlannedOperator


class LeftInQueues(Exception):
    """An operator did not run although elements waited for it: the batch must not count."""


class Ticks(NamedTuple):
    """The ticks begin .. heartbeat - 1, which a batch is to an input."""

    begin: int
    heartbeat: int


class Network:
    """The operators of one group in one shard, for one batch.

    members: their ids; operators: by id, those that are no inputs. surroundings: as they were made
    with. answers: who takes the elements of a query's answer; nobody else's are kept. taps: who
    looks at those of an operator.
    """

    def __init__(
        self,
        job: NetworkJob,
        members: Collection[str],
        operators: Mapping[str, NetworkOperator],
        surroundings: Surroundings,
        answers: Mapping[str, AnswerTaker],
        taps: Mapping[str, ElementTap] | None = None,
    ) -> None:
        self._schedule, self._surroundings = job.schedule, surroundings
        own = [operator for operator in job.plan.operators if operator.id in members]
        self._queues: dict[str, Queue] = {}
        self._exits = {operator.id: _Exit() for operator in own}
        fields = {operator.id: operator.fields for operator in own}
        for operator in own:
            for port, input in enumerate(operator.inputs):
                id = queue_id(input, operator.id, port)
                self._queues[id] = Queue(fields[input], job.schedule.capacity.get(id))
                self._exits[input].queues.append(self._queues[id])
        for query, taker in answers.items():
            self._exits[job.plan.answers[query].operator].takers.append(taker)
        self._taps = taps or {}
        for id, tap in self._taps.items():
            self._exits[id].takers.append(tap)
        self._inputs = [operator for operator in own if not operator.inputs]
        self._running = [
            _Running(
                place, operators[operator.id], self._queues_to(operator), self._exits[operator.id]
            )
            for place, operator in enumerate(own)
            if operator.inputs
        ]
        self._at = {running.place: running for running in self._running}
        self._has_limits = any(queue.capacity is not None for queue in self._queues.values())
        slopes = job.schedule.slopes
        self._slopes = {r.place: slopes[r.id] for r in self._running if r.id in slopes}
        self._curves = Curves(self._queues)
        self._last, self._owed = -1, 0.0  # who ran last; work done beyond what there was time for

    def _queues_to(self, operator: PlannedOperator) -> list[Queue]:
        ids = [queue_id(input, operator.id, port) for port, input in enumerate(operator.inputs)]
        return [self._queues[id] for id in ids]

    def step(
        self,
        arrivals: Mapping[str, Block],
        ticks: Mapping[str, Ticks],
        watch: Watch | None = None,
    ) -> NetworkReport:
        """Take the tuples of a batch and go on to the heartbeats of the inputs.

        arrivals: input -> its elements in this shard, all with τ before its heartbeat; ticks: of
        all inputs. watch: told of every scheduling decision.
        """
        for id in self.decisions(arrivals, ticks):
            if watch is not None:
                watch(id, {queue: len(held) for queue, held in self._queues.items()})
        return self.report()

    def decisions(self, arrivals: Mapping[str, Block], ticks: Mapping[str, Ticks]) -> Iterator[str]:
        """The same, one scheduling decision after the other: ids of the operators that run."""
        incoming = {**arrivals, **self._relations(ticks)}
        last = max((own.heartbeat for own in ticks.values()), default=0)
        for end, due, work in instants(incoming, last, self._schedule):
            for operator in self._inputs:
                block = due.get(operator.id) or empty(operator.fields)
                self._exits[operator.id].put(block, min(end, ticks[operator.id].heartbeat))
            yield from self._run_for(work)
            self._curves.sample(end)
        yield from self._run_for(float("inf"))
        self._check_empty()

    def _check_empty(self) -> None:
        """Queues end with the batch, and what would still wait in one with them. Raises
        LeftInQueues."""
        waiting = {id: len(queue) for id, queue in self._queues.items() if len(queue)}
        if waiting:
            raise LeftInQueues(f"the batch ended while elements waited in queues: {waiting}")

    def _relations(self, ticks: Mapping[str, Ticks]) -> dict[str, Block]:
        """The tuples of stored relations that were not read before, at this batch's first tick."""
        blocks: dict[str, Block] = {}
        for operator in self._inputs:
            if operator.work.is_stored:
                read = self._surroundings.regions.scope(operator.id).array("read", "int64", 1)
                begin, heartbeat = ticks[operator.id]
                if not read[0] and heartbeat > begin:
                    read[0] = 1
                    block = self._surroundings.relations[operator.id]
                    tau = np.full(len(block), begin, np.int64)
                    blocks[operator.id] = Block(tau, block.sign, block.columns)
        return blocks

    def _run_for(self, work: float) -> Iterator[str]:
        """Run operators until nothing is left to do or the work is done. What the last of them did
        beyond it counts as work of the next instant."""
        work += self._owed
        while work > 0:
            ready = [
                candidate
                for candidate in map(_Running.ready, self._running)
                if candidate is not None
            ]
            if not ready:
                self._owed = 0.0
                return
            if self._has_limits:
                ready = [
                    candidate for candidate in ready if self._at[candidate.place].exit.room
                ] or ready[-1:]
            self._last = choose(self._schedule.policy, ready, self._slopes, self._last).place
            chosen = self._at[self._last]
            room = chosen.exit.room or FOREVER
            n_taken = chosen.run(min(self._schedule.block_tuples, room))
            work -= n_taken * self._schedule.costs.get(chosen.id, 1.0)
            yield chosen.id
        self._owed = work

    def report(self) -> NetworkReport:
        """What was done; the batch is over."""
        for running in self._running:
            if isinstance(running.operator, KeepingOperator):
                running.operator.keep()
        counts = {running.id: running.counts() for running in self._running}
        for operator in self._inputs:
            n = self._exits[operator.id].n_out
            counts[operator.id] = OperatorCounts(n_in=n, n_out=n)
        tapped = {id: tap.told() for id, tap in self._taps.items()}
        return NetworkReport(operators=counts, queues=self._curves.told(), tapped=tapped)


class _Exit:
    """Where the elements of an operator go."""

    def __init__(self) -> None:
        self.queues: list[Queue] = []
        self.takers: list[AnswerTaker] = []
        self.n_out = 0

    @property
    def room(self) -> int:
        """Elements that all its queues may take in; without any, who fills them waits."""
        return min((queue.room for queue in self.queues), default=FOREVER)

    def put(self, block: Block, heartbeat: int) -> None:
        """Elements, and what holds for those after them."""
        self.n_out += len(block)
        for queue in self.queues:
            queue.push(block, heartbeat)
        for taker in self.takers if len(block) else ():
            taker.take(block, heartbeat)


#: What an operator of several inputs takes first: how much that comes to is not known.
_FIRST_TAKEN: Final = 1024


@dataclass
class _Running:
    """An operator with its queues. heartbeat_out: up to where it has told all there is to tell.
    most: elements that it takes at once; fewer where a join comes to more than a block."""

    place: int
    operator: NetworkOperator
    inputs: Sequence[Queue]
    exit: _Exit
    heartbeat_out: int = NEVER
    n_in: int = 0
    busy_ns: int = 0
    n_runs: int = 0
    most: int = _FIRST_TAKEN

    @property
    def id(self) -> str:
        """In the plan."""
        return self.operator.planned.id

    @property
    def heartbeat(self) -> int:
        """No later element of any input has a smaller τ."""
        return min([queue.heartbeat for queue in self.inputs])

    def ready(self) -> Ready | None:
        """τ of the oldest element it could take, or of the time that has gone on; None: there is
        neither. Where there are several inputs an element that is as far as time is waits for time:
        others may bring more of its τ."""
        heartbeat = self.heartbeat
        head = min([queue.head for queue in self.inputs])
        is_due = head < heartbeat + (len(self.inputs) == 1)
        if not is_due and heartbeat <= self.heartbeat_out:
            return None
        return Ready(self.place, min(heartbeat, head))

    def run(self, block_tuples: int) -> int:
        """Take some elements, the oldest; how many."""
        heartbeat = self.heartbeat
        if len(self.inputs) == 1:
            blocks = [self.inputs[0].take(block_tuples)]
        else:
            until = self._until(heartbeat, min(self.most, block_tuples))
            blocks = [queue.take_until(until) for queue in self.inputs]
        self.heartbeat_out = min(heartbeat, *(queue.head for queue in self.inputs))
        started = time.perf_counter_ns()
        results = self.operator.run(blocks, self.heartbeat_out)
        self.busy_ns += time.perf_counter_ns() - started
        self.exit.put(results, self.heartbeat_out)
        n_taken = sum(map(len, blocks))
        self.n_in += n_taken
        self.n_runs += 1
        is_much = len(results) > block_tuples
        self.most = n_taken * block_tuples // len(results) if is_much else 2 * self.most
        self.most = min(max(1, self.most), block_tuples)
        return n_taken

    def _until(self, heartbeat: int, block_tuples: int) -> int:
        """The τ up to which about a block of elements waits at all inputs together."""
        if sum(map(len, self.inputs)) <= block_tuples:
            return heartbeat
        firsts = np.concatenate([queue.first(block_tuples + 1) for queue in self.inputs])
        firsts = firsts[firsts <= heartbeat]
        if len(firsts) <= block_tuples:
            return heartbeat
        return int(np.partition(firsts, block_tuples - 1)[block_tuples - 1])

    def counts(self) -> OperatorCounts:
        """What it did in the batch."""
        operator = self.operator
        return OperatorCounts(
            self.n_in,
            self.exit.n_out,
            self.busy_ns,
            self.n_runs,
            operator.n_tuples,
            operator.n_bytes,
            operator.counters(),
            operator.profile() if isinstance(operator, ProfiledOperator) else None,
        )
