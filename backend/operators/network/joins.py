"""binary-join and mjoin: every element joins with the synopses of the other inputs (card A5).

The inputs are merged by τ. ⟨s,τ,±⟩ of one probes the others in the order of its pipeline; for each
combination s·t that is found ⟨s·t,τ,±⟩ goes out; then s is added to, or taken from, the synopsis
of its own input. NULL equals nothing; integers are compared with floating-point numbers as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from backend.operators.network import join_kernel, store_kernels
from backend.operators.network.blocks import Block, Bools, Ints, concat, empty
from backend.operators.network.contract import Surroundings
from backend.operators.network.expressions import compile_expression
from backend.operators.network.layouts import OWN_INDEX, column_types
from backend.operators.network.pipelines import index_name, key_columns, pipeline
from backend.operators.network.plan import JoinOp, PlannedOperator
from backend.operators.network.synopses import Synopsis, synopses


class WindowJoin:
    """A join of two or more inputs. Raises ValueError: the operator is none, or has too few."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        n = len(planned.inputs)
        if not isinstance(planned.work, JoinOp) or n < 2:
            what = type(planned.work).__name__
            raise ValueError(f"{planned.id}: {what} of {n} inputs is not a join of two or more")
        self._planned = planned
        self._synopses = synopses(surroundings, planned.id)
        self._tables = _Tables(planned, surroundings, self._synopses)
        self._counts = np.zeros((n, n - 1, 3), np.int64)
        self._residual = None
        if planned.work.residual is not None:
            self._residual = compile_expression(
                planned.work.residual, planned.fields, surroundings.strings
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
        """int64[n, n-1, 3]: of the elements of each input at each step of its pipeline, how often
        it was probed, the matches, and the tuples that were there to match; since it was made."""
        return self._counts

    def counters(self) -> Mapping[str, float]:
        """Probes and matches in all and by the input that was probed; join selectivities: the
        share of the pairs of tuples that match."""
        by_input = np.zeros((len(self._synopses), 3), np.int64)
        np.add.at(by_input, self._tables.targets, self._counts)
        found: dict[str, float] = {}
        for name, (probes, matches, pairs) in [
            ("", by_input.sum(axis=0)),
            *((f"_{port}", row) for port, row in enumerate(by_input)),
        ]:
            found |= {f"probes{name}": float(probes), f"matches{name}": float(matches)}
            if pairs:
                found[f"join_selectivity{name}"] = float(matches / pairs)
        return found

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        """The combinations that the elements add and take away."""
        if not any(len(block) for block in inputs):
            return empty(self._planned.fields)
        seqs = np.concatenate(
            [_enter(one, block) for one, block in zip(self._synopses, inputs, strict=True)]
        )
        tau = np.concatenate([block.tau for block in inputs])
        signs = np.concatenate([block.sign for block in inputs])
        ports = np.repeat(np.arange(len(inputs)), [len(block) for block in inputs])
        order = np.argsort(tau, kind="stable")
        found = self._probe(ports[order], seqs[order], signs[order])
        blocks = [self._block(tau[order[e]], signs[order[e]], places) for e, places in found]
        return concat(blocks)

    def _probe(self, ports: Ints, seqs: Ints, signs: Ints) -> list[tuple[Ints, Ints]]:
        """Runs of results: the element of each, and the tuple of each input."""
        for one in self._synopses:
            one.store.take_up()
        tables, n = self._tables, len(self._synopses)
        stubs = [one.stub for one in self._synopses]
        progress = np.array([[stub.lo, stub.hi, stub.n_gone] for stub in stubs])
        fixed = tables.inputs_and_indexes()
        join_kernel.link_all(fixed.inputs, tables.keys, fixed.indexes, progress)
        scratch = [np.zeros(size, np.int64) for size in (tables.n_groups, n, n)]
        tally = np.zeros((n - 1, 2), np.int64)
        done, room, found = 0, 2 * len(ports), []
        while done < len(ports):
            out, elements = np.empty((n, room), np.int64), np.empty(room, np.int64)
            begin = done
            done, n_out = join_kernel.probe(
                fixed.inputs,
                tables.keys,
                fixed.indexes,
                tables.steps(fixed),
                progress,
                ports,
                seqs,
                signs,
                begin,
                *scratch,
                tally,
                self._counts,
                out,
                elements,
            )
            found.append((elements[:n_out], out[:, :n_out]))
            room = room if done > begin else 4 * room
        for stub, (lo, hi, n_gone) in zip(stubs, progress.tolist(), strict=True):
            stub.move(lo, hi, hi, n_gone)
        return found
