"""What a join is to its kernel: tables of integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins import join_kernel as kernel
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.pipelines import (
    KeyColumn,
    index_name,
    index_names,
    key_columns,
    pipeline,
)
from backend.operators.network.stores.stores import HashIndex
from backend.operators.network.stores.synopses import Synopsis


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where stores and indexes lie at the moment. arrays: what must live as long as they are
    used."""

    inputs: Ints
    indexes: Ints
    arrays: tuple[HashIndex, ...]


class JoinTables:
    """Of a join: its keys, its indexes by name, its pipelines."""

    def __init__(
        self, planned: PlannedOperator, plan: NetworkPlan, synopses: Sequence[Synopsis]
    ) -> None:
        work, n = planned.doing(JoinOp), len(synopses)
        self._synopses = synopses
        types = [plan.operator(input).column_types for input in planned.inputs]
        self._keys = [
            key_columns(work, port, types, synopsis.columns)
            for port, synopsis in enumerate(synopses)
        ]
        self._indexes = [
            (port, name)
            for port, keys in enumerate(self._keys)
            for name in sorted(index_names(work, port, n, keys))
        ]
        self.n_inputs, self.n_groups = n, max(1, len(work.equal))
        self.keys: Ints = key_table(self._keys)
        #: int64[n, n-1, 3]: for each input the steps of its pipeline.
        self.steps: Ints = np.array(
            [
                [(step.target, step.known, self._place(step.target, step.known)) for step in steps]
                for steps in (pipeline(work, port, n) for port in range(n))
            ],
            np.int64,
        )
        self._known = {
            self._place(step[0], step[1]): int(step[1]) for step in self.steps.reshape(-1, 3)
        }

    def key_columns(self, port: int) -> tuple[KeyColumn, ...]:
        """The columns of an input that are in classes."""
        return self._keys[port]

    def walk_step(self, target: int, known: int) -> tuple[int, int, int]:
        """A step beside the pipelines: by the index that takes most of the classes known."""
        own = sum(1 << group for group in {key.group for key in self._keys[target]})
        places = [m for m, (port, _) in enumerate(self._indexes) if port == target]
        fit = [m for m in places if not self._known[m] & own & ~known]
        best = max(fit, key=lambda m: (self._known[m] & own).bit_count(), default=-1)
        return target, known, best

    def addresses(self) -> Addresses:
        """Good until a store is taken up anew."""
        return addresses(self._synopses, self._keys, self._indexes, self._known)

    def _place(self, port: int, known: int) -> int:
        """The number of the index that a step uses, -1: none."""
        name = index_name(self._keys[port], int(known))
        return self._indexes.index((port, name)) if name else -1


def key_table(keys: Sequence[Sequence[KeyColumn]]) -> Ints:
    """int64[keys, 3], those of an input together."""
    rows = [(key.column, key.group, key.as_float) for own in keys for key in own]
    return np.array(rows, np.int64).reshape(-1, 3)


def addresses(
    synopses: Sequence[Synopsis],
    keys: Sequence[Sequence[KeyColumn]],
    indexes: Sequence[tuple[int, str]],
    known: Mapping[int, int],
) -> Addresses:
    """Where stores and hash indexes lie. keys: of each input; indexes: input and name of each,
    those of an input together; known: the classes of each, as bits."""
    inputs = np.zeros((len(synopses), kernel.N_INPUT), np.int64)
    begin = 0
    for port, synopsis in enumerate(synopses):
        store, format = synopsis.store, synopsis.store.format
        inputs[port, kernel.ROWS] = store.rows.ctypes.data
        inputs[port, kernel.WIDTH], inputs[port, kernel.MASK] = format.width, store.mask
        inputs[port, kernel.NULLS], inputs[port, kernel.OLDEST] = format.nulls, store.lo
        inputs[port, kernel.STATE] = format.own if synopsis.plan.kind == "bag" else -1
        inputs[port, kernel.KEYS] = begin
        begin += len(keys[port])
        inputs[port, kernel.KEYS_END] = begin
        own = [m for m, (owner, _) in enumerate(indexes) if owner == port]
        if own:
            inputs[port, kernel.INDEXES] = own[0]
            inputs[port, kernel.INDEXES_END] = own[-1] + 1
    arrays = tuple(synopses[port].store.index(name) for port, name in indexes)
    rows = np.zeros((max(1, len(arrays)), kernel.N_INDEX), np.int64)
    for m, index in enumerate(arrays):
        rows[m, kernel.KNOWN], rows[m, kernel.BUCKETS] = known[m], len(index.head) - 1
        rows[m, kernel.HEAD], rows[m, kernel.NEXT] = index.head.ctypes.data, index.next.ctypes.data
        rows[m, kernel.LINKED] = index.linked.ctypes.data
    return Addresses(inputs, rows, arrays)
