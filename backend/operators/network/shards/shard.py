"""A shard's part of a batch: state taken up, tuples put in order, the network run, answers written.

Every shard is given all tuples of the batch, so that it knows their numbers and times, and takes in
those that belong to it. A batch's effect is a function of the state after the one before, of the
batch's tuples and of the plan; it may be run again, elsewhere, with the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from backend.operators.contract import KeptAside
from backend.operators.network.core.blocks import Block
from backend.operators.network.core.contract import (
    AnswerTaker,
    Clock,
    NetworkOperator,
    Surroundings,
    Watch,
)
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.network import Network, Ticks
from backend.operators.network.core.plan import NetworkPlan, Streams
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import as_tuned
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.expressions.arrow import answer_schema, columns64
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.answers import (
    Net,
    NetworkAnswers,
    accuracies,
    answer_fields,
)
from backend.operators.network.shards.clocks import Released
from backend.operators.network.shards.homes import Attached, Done, DurableShard, ShardHome
from backend.operators.network.shards.input_manager import Advance, advance
from backend.operators.network.shards.keyed import shards_of
from backend.operators.network.shards.redo_log import RedoLog, RedoSegment
from backend.operators.network.shards.relation_blocks import RelationBlocks
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.network.shards.taps import Tap
from backend.operators.network.shards.timed import Arrived, Timed
from backend.operators.parts import Parts
from backend.operators.reports import MISFITS_SHOWN
from backend.operators.task import stream_folder
from storage.vocabulary.names import answer_folder, in_folder

#: Makes an operator around what its regions hold.
Make: TypeAlias = Callable[[PlannedOperator, Surroundings], NetworkOperator]
#: Scopes of a shard's regions.
_OPERATORS: Final = "operators"
_STRINGS: Final = "strings"


class ReshardingRefused(Exception):
    """The number of shards is not the one the state is laid out by."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the state of a run's units is kept. log: URL of the folder of all redo logs; arenas:
    folder on each machine that works, of this incarnation of the run; a relative one is below a
    folder that each worker has for itself. durable: as in RedoLog."""

    log: str
    arenas: str
    durable: bool = False

    def log_of(self, unit: str) -> RedoLog:
        """A unit's redo log."""
        return RedoLog(f"{self.log}/{in_folder(unit)}", self.durable)

    def shard(self, unit: str, shard: int, n_shards: int) -> DurableShard:
        """Where a shard of a unit is at home."""
        folder = Path(self.arenas) / in_folder(unit) / str(shard)
        return DurableShard(self.log_of(unit), folder, shard, n_shards)


@dataclass(frozen=True, slots=True)
class NetworkTask:
    """What the shards of a unit do in a batch. version: of the job, as its redo log knows it.

    ended: inputs that had given their last tuple before the batch. folder, format: the run's part
    of the sink, '' where nothing is written. make: makes operators; None: as the plan says.
    accuracy: elements in the sink say how accurate the answer is. taps: operators, by id, of whose
    elements some are told.
    """

    unit: str
    batch_id: int
    job: NetworkJob
    version: str
    ended: frozenset[str]
    folder: str
    format: str
    make: Make | None = None
    accuracy: bool = False
    taps: frozenset[str] = frozenset()


def run_shard(
    task: NetworkTask,
    shard: int,
    home: ShardHome,
    arrived: Mapping[str, Sequence[Arrived]],
    ended: Collection[str],
    watch: Watch | None = None,
) -> ShardReport:
    """One shard's part of a batch. arrived: all its tuples, by input; ended: inputs that have given
    their last one; watch: told of every scheduling decision. Raises StateLost, ReshardingRefused.
    """

    def job_of(version: str) -> NetworkJob | None:
        if version == task.version:
            return task.job
        return home.job(version) if version else None

    def replay(regions: Regions, version: str, segment: RedoSegment) -> int:
        before, job = job_of(version), job_of(segment.version)
        assert job is not None
        _forget_gone(regions, None if before is None else before.plan, job.plan)
        player = _Player(task.unit, job, shard, regions, task.make)
        return player.play(segment.released, {}).n_made

    with home.attached(task.batch_id, replay) as state:
        before = job_of(state.version)
        _check_shards(task, before)
        _forget_gone(state.regions, None if before is None else before.plan, task.job.plan)
        moved = advance(task.job, state.inputs, arrived, ended)
        player = _Player(task.unit, task.job, shard, state.regions, task.make)
        sink = _answers(task, shard, player, moved.released)
        played = player.play(moved.released, sink.answers, watch, task.taps)
        parts = sink.close(accuracies(player.plan, played) if task.accuracy else {})
        report = _told(sink, played, player, state, moved)
        logged = _read_alone(task.job, moved.released)
        segment = RedoSegment(task.version, logged, state.how == "new")
        n_tuples = sum(counts.n_tuples for counts in played.operators.values())
        done = Done(segment, moved.state, n_tuples, played.n_made)
        n_bytes = home.done(task.batch_id, done)
        report = replace(report, log_bytes=n_bytes)
        player.strings.keep()
        return _report(task, shard, report, parts, moved, arrived)


def _check_shards(task: NetworkTask, before: NetworkJob | None) -> None:
    if before is not None and before.n_shards != task.job.n_shards:
        raise ReshardingRefused(
            f"shards = {task.job.n_shards} is refused: the state of unit {task.unit} is laid "
            f"out for {before.n_shards}; begin another run for another number"
        )


class _Player:
    """A job's operators in a shard, made around its state. Only here are kernels loaded."""

    def __init__(
        self, unit: str, job: NetworkJob, shard: int, regions: Regions, make: Make | None
    ) -> None:
        from backend.operators.network.relational import netting
        from backend.operators.network.shards import making
        from backend.operators.network.stores import synopses

        self._job = replace(job, plan=as_tuned(job.plan, job.decided))
        self._shard, self._make = shard, make or making.make
        self._net, self._synopses = netting.net, synopses.synopses
        self._regions = regions.scope(_OPERATORS)
        self.strings = Strings(regions.scope(_STRINGS), f"{unit} {shard}")
        self._key_of = {
            input: place for group in job.plan.groups for input, place in group.keys.items()
        }

    @property
    def plan(self) -> NetworkPlan:
        """As it is run: with the probe orders that joins have now."""
        return self._job.plan

    def queries(self, released: Released) -> tuple[str, ...]:
        """Those whose answer, or a part of it, is made in this shard, and whose time has begun."""
        made = {id for ids in self._at_work(released).values() for id in ids}
        return tuple(
            query for query, answer in self.plan.answers.items() if answer.operator in made
        )

    def _at_work(self, released: Released) -> dict[Streams, frozenset[str]]:
        """The operators of this shard by their clock, of those that have begun."""
        members = _members(self.plan, self._shard)
        return {
            clock: members.intersection(operators)
            for clock, operators in self.plan.clocks.items()
            if released.spans[clock].has_begun
        }

    def nets(self, query: str) -> tuple[Net | None, Net | None]:
        """What nets whole ticks of a query's answer, None where they are net, and what nets all of
        a batch as if at one tick, None for streams."""
        fields, strings = answer_fields(self.plan, query), self.strings

        def of_batch(block: Block) -> Block:
            return self._net(replace(block, tau=np.zeros_like(block.tau)), fields, strings)

        of_ticks = None if self.plan.is_net(query) else lambda b: self._net(b, fields, strings)
        return of_ticks, None if self.plan.answers[query].is_stream else of_batch

    def play(
        self,
        released: Released,
        answers: Mapping[str, AnswerTaker],
        watch: Watch | None = None,
        tapped: frozenset[str] = frozenset(),
    ) -> NetworkReport:
        """Have tuples go through the network. answers: who takes those of queries; tapped:
        operators of whose elements some are told."""
        at_work = self._at_work(released)
        if not at_work:
            return NetworkReport()
        self.strings.sweep(self._regions)
        around = self._around()
        self._synopses(around, "")  # stores follow the plan, also where none is left
        operators: dict[str, NetworkOperator] = {}
        arrivals: dict[str, Block] = {}
        ticks: dict[str, Ticks] = {}
        for clock, ids in at_work.items():
            span, rows = released.spans[clock], released.taken(clock)
            arrived = {name: (span.first[name], timed.tau) for name, timed in rows.items()}
            timely = replace(around, clock=Clock(span.begin, arrived, frozenset(span.over)))
            for operator in self._planned(ids):
                if operator.inputs:
                    operators[operator.id] = self._make(operator, timely)
                    continue
                ticks[operator.id] = Ticks(span.begin, span.heartbeat)
                if isinstance(operator.work, StreamInput):
                    own = span.first[operator.work.stream], rows[operator.work.stream]
                    arrivals[operator.id] = self._arrivals(operator, operator.work, *own)
        members = frozenset[str]().union(*at_work.values())
        taps = self._taps(members & tapped)
        network = Network(self._job, members, operators, around, answers, taps)
        return network.step(arrivals, ticks, watch)

    def _around(self) -> Surroundings:
        return Surroundings(
            self.plan,
            self._regions,
            self.strings,
            Clock(),
            RelationBlocks(self._job, self._shard, self.strings, self._key_of),
            self._job.functions,
            self._job.decided,
        )

    def _taps(self, ids: frozenset[str]) -> dict[str, Tap]:
        return {id: Tap(self.plan.operator(id).fields, self.strings) for id in ids}

    def _planned(self, ids: Collection[str]) -> Iterable[PlannedOperator]:
        return (operator for operator in self.plan.operators if operator.id in ids)

    def _arrivals(
        self, operator: PlannedOperator, work: StreamInput, first: int, timed: Timed
    ) -> Block:
        """What a stream's input takes in of a batch, in this shard. first: the number of the first
        of its tuples."""
        seq = first + np.arange(len(timed), dtype=np.int64)
        schema = self._job.schemas[work.stream]
        table = timed.tuples.select([schema.names[place] for place in work.columns])
        tau = timed.tau
        if operator.id in self._key_of and self._job.n_shards > 1:
            key = table.column(self._key_of[operator.id])
            rows = np.flatnonzero(shards_of(key, self._job.n_shards) == self._shard)
            table, tau, seq = table.take(rows), tau[rows], seq[rows]
        columns = columns64(table, operator.fields, self.strings)
        return Block(tau, np.ones(len(tau), np.int8), columns, seq)


def _members(plan: NetworkPlan, shard: int) -> frozenset[str]:
    """The operators that run in a shard; those of groups without keys do in shard 0."""
    own = (group.operators for group in plan.groups if group.keys or shard == 0)
    return frozenset(id for operators in own for id in operators)


def _read_alone(job: NetworkJob, released: Released) -> Released:
    """The same with the columns alone that the plan reads."""
    read: dict[str, set[int]] = {name: set() for name in released.rows}
    for _, work in job.plan.working(StreamInput):
        read[work.stream].update(work.columns)
    names = {name: schema.names for name, schema in job.schemas.items()}
    rows = {
        name: replace(
            timed, tuples=timed.tuples.select([names[name][k] for k in sorted(read[name])])
        )
        for name, timed in released.rows.items()
    }
    return replace(released, rows=rows)


def _forget_gone(regions: Regions, before: NetworkPlan | None, now: NetworkPlan) -> None:
    """Drop the state of operators that are no more."""
    if before is None or before is now:
        return
    remaining = {operator.id for operator in now.operators}
    for operator in before.operators:
        if operator.id not in remaining:
            regions.scope(_OPERATORS).drop(operator.id)


def _answers(task: NetworkTask, shard: int, player: _Player, released: Released) -> NetworkAnswers:
    """The answers that come of a batch in this shard."""

    def parts(query: str, schema: pa.Schema) -> Parts:
        own = answer_folder(query, task.job.plan.answers[query].since)
        return Parts(f"{task.folder}/{own}", task.format, schema, task.batch_id, shard)

    nets = {query: player.nets(query) for query in player.queries(released)}
    make = parts if task.folder else None
    return NetworkAnswers(player.plan, player.strings, nets, make, task.accuracy)


def _told(
    sink: NetworkAnswers, played: NetworkReport, player: _Player, state: Attached, moved: Advance
) -> NetworkReport:
    """The network's report, with what is known around it; it may open regions."""
    from backend.operators.network.stores.store_reports import store_reports

    scopes = state.regions.scope(_OPERATORS)
    return replace(
        played,
        heartbeat=moved.released.heartbeat,
        clocks=moved.clocks,
        answers={query: answer.n for query, answer in sink.answers.items()},
        net={query: answer.net for query, answer in sink.answers.items()},
        recent=sink.recent(),
        changed=sink.changed(),
        n_late={name: len(late) for name, late in moved.late.items()},
        n_missed={name: len(missed) for name, missed in moved.missed.items()},
        pending={name: len(timed) for name, timed in moved.state.pending.items()},
        state_bytes=state.regions.n_bytes,
        attached={state.how: 1},
        stores={store.id: store for store in store_reports(player.plan, scopes)},
    )


def _report(
    task: NetworkTask,
    shard: int,
    report: NetworkReport,
    parts: Mapping[str, tuple[str, ...]],
    moved: Advance,
    arrived: Mapping[str, Sequence[Arrived]],
) -> ShardReport:
    """What all shards know alike is told by shard 0."""
    if shard:
        report = replace(report, n_late={}, n_missed={}, pending={})
        return ShardReport(task.unit, shard, report, parts)
    kept = {name: late.kept_aside() for name, late in moved.late.items()}
    missed = {name: late.kept_aside() for name, late in moved.missed.items()}
    n_tuples = sum(chunk.tuples.num_rows for chunks in arrived.values() for chunk in chunks)
    return ShardReport(
        task.unit,
        shard,
        replace(report, late=_first(kept), missed=_first(missed)),
        parts,
        {name: _keep_aside(task, name, tuples) for name, tuples in kept.items()},
        n_tuples - sum(map(len, moved.late.values())),
    )


def _first(tuples: Mapping[str, Sequence[KeptAside]]) -> dict[str, tuple[KeptAside, ...]]:
    return {name: tuple(some[:MISFITS_SHOWN]) for name, some in tuples.items()}


def _keep_aside(task: NetworkTask, stream: str, late: Sequence[KeptAside]) -> tuple[str, ...]:
    """Write late tuples where the stream's misfits go; the file's name in the staging folder."""
    if not task.folder:
        return ()
    schema = answer_schema(task.job.schemas[stream].attributes)
    folder = stream_folder(task.folder, stream)
    parts = Parts(folder, task.format, schema, task.batch_id, 0)
    parts.keep_aside(late)
    return parts.close()
