"""binary-join and mjoin: every element joins with the synopses of the other inputs (card A5).

The inputs are merged by τ. ⟨s,τ,±⟩ of one probes the others in the order of its pipeline; for each
combination s·t that is found ⟨s·t,τ,±⟩ goes out; then s is added to, or taken from, the synopsis
of its own input. NULL equals nothing; integers are compared with floating-point numbers as such.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from backend.operators.network.core.blocks import Block, Ints, Signs, concat, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.layouts import OWN_INDEX
from backend.operators.network.core.merging import Came, merged_inputs
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.expressions.expressions import compile_expression
from backend.operators.network.joins import join_kernel
from backend.operators.network.joins.join_tables import JoinTables
from backend.operators.network.joins.join_tuning import JoinProfile, JoinTuning
from backend.operators.network.joins.tuned_joins import TunedJoin, pipeline_profiles
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.stores import store_kernels
from backend.operators.network.stores.synopses import Synopsis, synopses


class WindowJoin:
    """A join of two or more inputs. Raises ValueError: the operator is none, or has too few."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        n, work = len(planned.inputs), planned.doing(JoinOp)
        if n < 2:
            raise ValueError(f"{planned.id}: a join of {n} inputs; it needs two or more")
        self._planned = planned
        self._synopses = synopses(surroundings, planned.id)
        self._tables = JoinTables(planned, surroundings.plan, self._synopses)
        self._counts = np.zeros((n, n - 1, join_kernel.N_COUNT), np.int64)
        self._came = np.zeros((n, 2), np.int64)
        self._processor_ns = 0
        tuning = surroundings.tunings.get(planned.id)
        self._tuning = tuning if isinstance(tuning, JoinTuning) else None
        regions = surroundings.regions.scope(planned.id)
        self._tuned = TunedJoin(work, self._tables, self._tuning or JoinTuning(), regions)
        self._residual = None
        if work.residual is not None:
            self._residual = compile_expression(
                work.residual, planned.fields, surroundings.strings, surroundings.functions
            )

    @property
    def planned(self) -> PlannedOperator:
        return self._planned

    @property
    def n_tuples(self) -> int:
        """Tuples of all inputs."""
        return sum(one.n_tuples for one in self._synopses)

    @property
    def n_bytes(self) -> int:
        return sum(one.n_bytes for one in self._synopses)

    @property
    def counts(self) -> Ints:
        """int64[n, n-1, 4]: of the elements of each input at each step of its pipeline, how often
        it was probed, the matches, the tuples that were looked at for them, and the tuples that
        were there to match; since it was made."""
        return self._counts

    def counters(self) -> Mapping[str, float]:
        """Probes, matches and pairs of tuples compared by those, in all and by the input that was
        probed ('probes_0'...): numbers that add up over shards and batches."""
        by_input = self._by_input
        names = ("probes", "matches", "pairs")
        found = dict(zip(names, by_input.sum(axis=0).tolist(), strict=True))
        for port, row in enumerate(by_input.tolist()):
            found |= {f"{name}_{port}": n for name, n in zip(names, row, strict=True)}
        return found

    @property
    def selectivities(self) -> tuple[float | None, ...]:
        """For each input the share of the pairs compared that match; None: it was not probed."""
        return tuple(
            float(matches / pairs) if pairs else None for _, matches, pairs in self._by_input
        )

    @property
    def _by_input(self) -> Ints:
        found = np.zeros((len(self._synopses), 3), np.int64)
        told = self._counts[:, :, [join_kernel.PROBES, join_kernel.MATCHES, join_kernel.PAIRS]]
        np.add.at(found, self._tables.steps[:, :, join_kernel.TARGET], told)
        return found

    def profile(self) -> JoinProfile | None:
        """What it saw of its pipelines and caches since it was made; None: it is not tuned."""
        if self._tuning is None:
            return None
        pipelines = pipeline_profiles(self._came, self._counts, self._tuned)
        caches, shadows = self._tuned.cache_counts(), self._tuned.shadow_counts()
        return JoinProfile(pipelines, caches, shadows, self._processor_ns)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        """The combinations that the elements add and take away."""
        if not any(len(block) for block in inputs):
            return empty(self._planned.fields)
        seqs = [self._enter(port, block) for port, block in enumerate(inputs)]
        for port, block in enumerate(inputs):
            n_go = int(np.count_nonzero(block.sign < 0))
            self._came[port] += len(block) - n_go, n_go
        came = merged_inputs(inputs, seqs)
        return concat(
            [self._block(came.tau[e], came.signs[e], places) for e, places in self._probe(came)]
        )

    def _enter(self, port: int, block: Block) -> Ints:
        """Have the tuples of elements in the store; returns the number of each one's."""
        one = self._synopses[port]
        one.store.take_up()
        if one.plan.kind == "bag":
            return self._enter_bag(port, one, block)
        seqs = np.empty(len(block), np.int64)
        n = store_kernels.number(block.sign, one.stub.lo, one.stub.hi, seqs)
        if n > one.n_ahead:
            news = block.columns if n == len(block) else block.take(block.sign > 0).columns
            one.enter(news, n)
        return seqs

    def _enter_bag(self, port: int, one: Synopsis, block: Block) -> Ints:
        """As elements leave a bag in any order, those with sign - are looked for in it; to be
        compared they lie in the store for a moment, behind all others."""
        store, n, n_come = one.store, len(block), int(np.count_nonzero(block.sign > 0))
        moved = store.compact(one.stub)
        if len(moved):
            self._tuned.renumber(port, one.stub.lo, moved)
        order = np.argsort(-block.sign, kind="stable")
        first = one.stub.hi
        store.append(block.take(order).columns, n)
        store.hi = first + n_come
        seqs = np.empty(n, np.int64)
        seqs[order] = np.arange(first, first + n)
        format, index, lo = store.format, store.index(OWN_INDEX), one.stub.lo
        ring = store.rows, format.width, format.nulls, format.own, store.mask
        chains = index.head, index.next, np.arange(len(format.types))
        span = np.array([max(int(index.linked[0]), lo), first])
        store_kernels.link_groups(*ring, *chains, span)
        done = store_kernels.take_away(*ring, *chains, lo, seqs, block.sign)
        if done < n:
            raise ValueError(
                f"{self._planned.id}, input {port}: an element takes away what is not there"
            )
        index.linked[0] = store.hi
        return seqs

    def _probe(self, came: Came) -> Iterator[tuple[Ints, Ints]]:
        """Runs of results: the element of each, and the tuple of each input."""
        for one in self._synopses:
            one.store.take_up()
        stubs = [one.stub for one in self._synopses]
        progress = np.array([[stub.lo, stub.hi, stub.n_gone] for stub in stubs])
        at = self._tables.addresses()
        join_kernel.link_all(at.inputs, self._tables.keys, at.indexes, progress)
        n, n_elements = len(self._synopses), len(came.tau)
        done, room = 0, 2 * n_elements
        while done < n_elements:
            out, elements = np.empty((n, room), np.int64), np.empty(room, np.int64)
            begin, started = done, time.thread_time_ns()
            done, n_out = self._tuned.probe(at, progress, self._counts, came, begin, out, elements)
            self._processor_ns += time.thread_time_ns() - started
            yield elements[:n_out], out[:, :n_out]
            room = room if done > begin else 4 * room
        for stub, (lo, hi, n_gone) in zip(stubs, progress.tolist(), strict=True):
            stub.move(lo, hi, hi, n_gone)

    def _block(self, tau: Ints, signs: Signs, places: Ints) -> Block:
        """Results, those that the residual condition is true for."""
        columns = [
            column
            for one, seqs in zip(self._synopses, places, strict=True)
            for column in one.store.columns(seqs, one.columns)
        ]
        block = Block(tau, signs, tuple(columns))
        if self._residual is None or not len(block):
            return block
        found = self._residual(block)
        return block.take((found.values != 0) & found.is_valid)
