"""What joins of stored inputs have in common (card A5): their elements in order of time, how these
come into stores, and how results get their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from backend.operators.network.core.blocks import Block, Ints, Signs, concat, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.layouts import OWN_INDEX
from backend.operators.network.core.merging import Came, merged_inputs
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.expressions.expressions import compile_expression
from backend.operators.network.joins.sampled_results import SampledResults
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.stores import store_kernels
from backend.operators.network.stores.synopses import Synopsis, synopses


class StoredJoin:
    """What joins of stored inputs have in common: how elements come into stores, and how results
    get their columns. Raises ValueError: it has too few inputs."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        n, work = len(planned.inputs), planned.doing(JoinOp)
        if n < 2:
            raise ValueError(f"{planned.id}: a join of {n} inputs; it needs two or more")
        self._planned = planned
        self._synopses = synopses(surroundings, planned.id)
        self._came = np.zeros((n, 2), np.int64)
        self._processor_ns = 0
        self._sampled = SampledResults.of(planned, surroundings)
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
        return sum(synopsis.n_tuples for synopsis in self._synopses)

    @property
    def n_bytes(self) -> int:
        return sum(synopsis.n_bytes for synopsis in self._synopses)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        """The combinations that the elements add and take away."""
        if not any(len(block) for block in inputs):
            return empty(self._planned.fields)
        seqs = [self._enter(port, block) for port, block in enumerate(inputs)]
        for port, block in enumerate(inputs):
            n_go = int(np.count_nonzero(block.sign < 0))
            self._came[port] += len(block) - n_go, n_go
        came = merged_inputs(inputs, seqs)
        results = concat(
            [self._block(came.tau[e], came.signs[e], places) for e, places in self._probe(came)]
        )
        if self._sampled is not None:
            self._sampled.count(results)
        return results

    @property
    def sample_counters(self) -> Mapping[str, float]:
        """Of results, where windows below may have dropped tuples."""
        return {} if self._sampled is None else self._sampled.counters()

    def _enter(self, port: int, block: Block) -> Ints:
        """Have the tuples of elements in the store; returns the number of each one's."""
        synopsis = self._synopses[port]
        synopsis.store.take_up()
        if synopsis.plan.kind == "bag":
            return self._enter_bag(port, synopsis, block)
        seqs = np.empty(len(block), np.int64)
        n = store_kernels.number(block.sign, synopsis.stub.lo, synopsis.stub.hi, seqs)
        if n > synopsis.n_ahead:
            news = block.columns if n == len(block) else block.take(block.sign > 0).columns
            synopsis.enter(news, n)
        return seqs

    def _enter_bag(self, port: int, synopsis: Synopsis, block: Block) -> Ints:
        """As elements leave a bag in any order, those with sign - are looked for in it; to be
        compared they lie in the store for a moment, behind all others."""
        store, n, n_come = synopsis.store, len(block), int(np.count_nonzero(block.sign > 0))
        moved = store.compact(synopsis.stub)
        if len(moved):
            self._renumbered(port, synopsis.stub.lo, moved)
        order = np.argsort(-block.sign, kind="stable")
        first = synopsis.stub.hi
        store.append(block.take(order).columns, n)
        store.hi = first + n_come
        seqs = np.empty(n, np.int64)
        seqs[order] = np.arange(first, first + n)
        format, index, lo = store.format, store.index(OWN_INDEX), synopsis.stub.lo
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
        raise NotImplementedError

    def _renumbered(self, port: int, lo: int, moved: Ints) -> None:
        """Tuples of a bag have new numbers: moved[s - lo] is that of tuple s."""
        raise NotImplementedError

    def _block(self, tau: Ints, signs: Signs, places: Ints) -> Block:
        """Results, those that the residual condition is true for."""
        columns = [
            column
            for synopsis, seqs in zip(self._synopses, places, strict=True)
            for column in synopsis.store.columns(seqs, synopsis.columns)
        ]
        block = Block(tau, signs, tuple(columns))
        if self._residual is None or not len(block):
            return block
        holds = self._residual(block)
        return block.take((holds.values != 0) & holds.is_valid)
