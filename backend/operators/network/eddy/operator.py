"""The eddy at work: elements take routes past states with access methods of their own.

[AMRI] sections 2 and 4. Results are those of the join whatever routes, access methods, bits,
partitions and migrations; what is decided on those comes with the tuning.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from backend.operators.network.core.addressing import addressed
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.merging import Came
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.eddy import words as w
from backend.operators.network.eddy.bit_index import BitIndex, bit_index_bytes, default_states
from backend.operators.network.eddy.eddy_kernel import link_states, route_elements
from backend.operators.network.eddy.tuning import (
    EddyProfile,
    EddyTuning,
    Route,
    StateReport,
    StateTuning,
)
from backend.operators.network.joins import join_kernel as kernel
from backend.operators.network.joins.join_tables import addresses, key_table
from backend.operators.network.joins.stored_joins import StoredJoin
from backend.operators.network.kinds.eddy import (
    MOST_ATTRIBUTES,
    EddyOp,
    join_attributes,
    requested_pattern,
    search_terms,
)
from backend.operators.network.kinds.pipelines import (
    KeyColumn,
    classes_of,
    index_name,
    key_columns,
    probe_orders,
)
from backend.operators.network.stores.stores import hash_index_bytes
from storage.vocabulary.amri_costs import MOST_BITS
from storage.vocabulary.amri_patterns import module_for

#: Of so many elements ``explored`` take another route.
_ALL: Final = 1 << 32


class EddyJoin(StoredJoin):
    """A join whose elements choose their routes. Raises ValueError: the operator is none."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work, n = planned.doing(EddyOp), len(planned.inputs)
        self._tuning = surroundings.tuning(planned, EddyTuning) or EddyTuning()
        inputs = [surroundings.plan.operator(input) for input in planned.inputs]
        self._terms = search_terms(work, [input.fields for input in inputs])
        self._jas = [join_attributes(self._terms, port) for port in range(n)]
        self._n_ordered = [len(self._terms.ordered(port)) for port in range(n)]
        states = self._tuning.states or default_states(
            [len(attributes) for attributes in self._jas]
        )
        types = self._types = [input.column_types for input in inputs]
        self._keys = [
            key_columns(self._terms, port, types, synopsis.columns)
            for port, synopsis in enumerate(self._synopses)
        ]
        self._states = [self._checked(states[port], port) for port in range(n)]
        self._regions = surroundings.regions.scope(planned.id)
        self._indexes = [
            BitIndex(self._regions.scope(f"bits {k}"), of, len(self._jas[k]), self._n_ordered[k])
            for k, of in enumerate(self._states)
        ]
        self._routes = self._tuning.routes or _routes(work, n)
        self._key_table, self._conditions = self._all_keys(), self._condition_table()
        self._in_use = self._fitting()
        self._use(self._in_use)
        n_routes, n_patterns = (
            self._steps.shape[1],
            1 << max(len(attributes) for attributes in self._jas),
        )
        self._counts = np.zeros((n, n_patterns, w.N_REQUEST), np.int64)
        self._route_counts = np.zeros((n, n_routes, w.N_ROUTE), np.int64)
        share = int(self._tuning.exploration * _ALL)
        self._explored = np.full(n, share, np.int64)
        values = np.zeros(max(1, len(self._terms.equal)), np.int64)
        tally = np.zeros((n - 1, w.N_REQUEST), np.int64)
        searches = np.zeros((n - 1, w.N_SEARCH), np.int64)
        self._scratch = values, np.zeros(n, np.int64), np.zeros(n, np.int64), tally, searches

    def _checked(self, state: StateTuning, port: int) -> StateTuning:
        """With hash indexes on what is equal to attributes of others alone."""
        n, bits = len(self._jas[port]), state.bits
        if n > MOST_ATTRIBUTES:
            raise ValueError(
                f"input {port} has {n} join attributes, {MOST_ATTRIBUTES} are the most"
            )
        if bits is not None and len(bits) != n:
            raise ValueError(f"{len(bits)} numbers of bits for {n} join attributes")
        if bits is not None and (min(bits, default=0) < 0 or sum(bits) > MOST_BITS):
            raise ValueError(f"bits {bits} of input {port}; they come to 0 to {MOST_BITS}")
        hashed = self._terms.hashed(port)
        modules = dict.fromkeys(module & hashed for module in state.modules)
        serves = tuple((pattern, module & hashed) for pattern, module in state.serves)
        return replace(state, modules=tuple(filter(None, modules)), serves=serves)

    # ------------------------------------------------------------------ what fits its memory

    def _fitting(self) -> list[StateTuning]:
        """The access methods of each state that fit its memory as large as the state is now."""
        return [
            fitting(of, self._span(k), self._synopses[k].store.capacity, self._n_ordered[k])
            for k, of in enumerate(self._states)
        ]

    def _span(self, port: int) -> int:
        store = self._synopses[port].store
        return store.hi - store.lo

    def _use(self, states: list[StateTuning]) -> None:
        """Search by these access methods from now on; hash indexes that were its own go."""
        self._in_use = states
        for index, state in zip(self._indexes, states, strict=True):
            index.fits = state.bits is not None
        self._modules = _modules(states, self._jas, self._keys)
        self._steps = self._step_table()
        used, _ = self._module_names
        for port, attributes in enumerate(self._jas):
            names = [
                index_name(self._keys[port], known_of(attributes, pattern))
                for pattern in range(1 << len(attributes))
            ]
            held = self._regions.array(f"modules {port} of {len(names)}", "uint8", len(names))
            own = np.array([(port, name) in used for name in names])
            for pattern in np.flatnonzero((held != 0) & ~own).tolist():
                self._synopses[port].store.drop_index(names[pattern])
            held[:] = own

    def _step_table(self) -> Ints:
        """int64[n, routes, n-1, N_STEP]."""
        n, most = len(self._synopses), max(len(routes) for routes in self._routes)
        terms, table = self._terms, np.zeros((n, most, n - 1, w.N_STEP), np.int64)
        for port, routes in enumerate(self._routes):
            for place, route in enumerate(routes):
                known = classes_of(terms, port)
                for level, target in enumerate(route):
                    with_target = known | classes_of(terms, target)
                    asked = terms.asked(known, with_target, level == 0)
                    pattern = requested_pattern(self._jas[target], known | terms.bounded(known))
                    method = self._method(target, pattern, known)
                    ranges = terms.ranges(self._jas[target], known, asked)
                    table[port, place, level, : w.RANGES] = target, known, method, pattern, asked
                    table[port, place, level, w.RANGES : w.RANGES + len(ranges)] = ranges
                    known = with_target
        return table

    def _all_keys(self) -> Ints:
        """int64[keys, 5], those of an input together."""
        rows = []
        for port, keys in enumerate(self._keys):
            places = self._terms.ordered(port)
            for k in range(len(keys)):
                place = places.index(k) if k in places else -1
                rows.append((place, self._is_float(keys[k].group)))
        columns = np.array(rows, np.int64).reshape(-1, 2)
        return np.ascontiguousarray(np.hstack([key_table(self._keys), columns]))

    def _is_float(self, group: int) -> bool:
        """Whether values of a class that is compared by order are floating-point numbers."""
        port, place = self._terms.equal[group][0]
        return self._types[port][place] == "float64"

    def _condition_table(self) -> Ints:
        """int64[conditions, N_CONDITION]."""
        rows = [(*of, self._is_float(of.low)) for of in self._terms.conditions]
        return np.array(rows, np.int64).reshape(-1, w.N_CONDITION)

    def _method(self, target: int, pattern: int, known: int) -> int:
        """What answers a pattern: where there are bits the hash index that is to serve it or has
        its attributes, else the bits; where there are none a hash index that can, else a scan. Of
        hash indexes only attributes count that a request specifies by a value. known: the classes
        that have one."""
        by_value = requested_pattern(self._jas[target], known)
        own = {module: m for m, (port, module, _) in enumerate(self._modules) if port == target}
        own = {module: m for module, m in own.items() if module & by_value == module}
        if self._indexes[target].is_there:
            alike = pattern & self._terms.hashed(target)
            serving = dict(self._in_use[target].serves).get(pattern, alike)
            return own.get(serving, w.BY_BITS)
        module = module_for(by_value, own)
        return w.SCAN if module is None else own[module]

    def _probe(self, came: Came) -> Iterator[tuple[Ints, Ints]]:
        """Runs of results: the element of each, and the tuple of each input."""
        for synopsis in self._synopses:
            synopsis.store.take_up()
        states = self._fitting()
        if states != self._in_use:
            self._use(states)
        stubs = [synopsis.stub for synopsis in self._synopses]
        progress = np.array([[stub.lo, stub.hi, stub.n_gone] for stub in stubs])
        begun = time.thread_time_ns()
        at = addresses(self._synopses, self._keys, *self._module_names)
        rows = [index.row(self._span(port)) for port, index in enumerate(self._indexes)]
        kept = self._arrays(at.inputs, at.indexes, progress, np.stack(rows))
        arrays = addressed(kept)
        link_states(arrays)
        until_ns = time.thread_time_ns() + 1000 * self._tuning.migration_us
        for port, index in enumerate(self._indexes):
            index.migrate(arrays, port, until_ns)
        n, n_elements = len(stubs), len(came.tau)
        done, room = 0, 2 * n_elements
        while done < n_elements:
            out, elements = np.empty((n, room), np.int64), np.empty(room, np.int64)
            begin = done
            done, n_out = route_elements(
                arrays, came.ports, came.seqs, came.signs, begin, out, elements
            )
            self._processor_ns += time.thread_time_ns() - begun
            yield elements[:n_out], out[:, :n_out]
            begun, room = time.thread_time_ns(), room if done > begin else 4 * room
        for stub, (lo, hi, n_gone) in zip(stubs, progress.tolist(), strict=True):
            stub.move(lo, hi, hi, n_gone)

    @property
    def _module_names(self) -> tuple[list[tuple[int, str]], dict[int, int]]:
        names = [(port, index_name(self._keys[port], known)) for port, _, known in self._modules]
        return names, {m: known for m, (_, _, known) in enumerate(self._modules)}

    def _arrays(self, inputs: Ints, indexes: Ints, progress: Ints, bits: Ints) -> w.EddyArrays:
        n = len(self._synopses)
        numbers = self._regions.array("numbers", "int64", n)
        n_routes = np.array([len(routes) for routes in self._routes], np.int64)
        steps = self._steps.reshape(-1, n - 1, w.N_STEP)
        return w.EddyArrays(
            inputs, self._key_table, indexes, progress, bits, self._conditions, steps, n_routes,
            numbers, self._explored, self._counts, self._route_counts, *self._scratch,
        )  # fmt: skip

    def _renumbered(self, port: int, lo: int, moved: Ints) -> None:
        self._indexes[port].empty()

    @property
    def n_bytes(self) -> int:
        return super().n_bytes + sum(index.n_bytes for index in self._indexes)

    def counters(self) -> Mapping[str, float]:
        """Search requests, tuples compared and matches."""
        sums = self._counts.sum(axis=(0, 1)).tolist()
        names = {"probes": kernel.PROBES, "matches": kernel.MATCHES, "pairs": kernel.SCANNED}
        return {name: float(sums[place]) for name, place in names.items()}

    def profile(self) -> EddyProfile:
        """What it saw since it was made."""
        return EddyProfile(
            self._came.copy(),
            self._counts.copy(),
            self._route_counts.copy(),
            tuple(self._state_report(port) for port in range(len(self._synopses))),
            self._processor_ns,
        )

    def _state_report(self, port: int) -> StateReport:
        synopsis, index = self._synopses[port], self._indexes[port]
        n_modules = sum(1 for owner, _, _ in self._modules if owner == port)
        n_tuples, capacity = synopsis.n_tuples, synopsis.store.capacity
        return StateReport(
            n_tuples,
            index.n_bytes + n_modules * hash_index_bytes(capacity),
            index.report(synopsis.stub.lo),
            index.migrated,
            index.migration_ns,
            (n_tuples,),
            self._span(port),
            capacity,
            self._in_use[port] != self._states[port],
        )


def fitting(state: StateTuning, n_tuples: int, capacity: int, n_ordered: int = 0) -> StateTuning:
    """The access methods of a state that fit its memory: hash indexes go first, the last one before
    the others, then the bits; what is left is a scan. n_tuples: that its store spans; capacity:
    places of that; n_ordered: its attributes that are compared by order."""
    most = state.most_bytes
    if most is None:
        return state
    by_bits = 0
    if state.bits is not None:
        by_bits = bit_index_bytes(n_tuples, state.partition, len(state.bits), n_ordered)
    modules, each = state.modules, hash_index_bytes(capacity)
    while modules and by_bits + len(modules) * each > most:
        modules = modules[:-1]
    bits = state.bits if by_bits + len(modules) * each <= most else None
    return replace(state, bits=bits, modules=modules)


def known_of(attributes: Sequence[int], pattern: int) -> int:
    """The classes of the attributes of a pattern, as bits."""
    n = len(attributes)
    classes = {attributes[k] for k in range(n) if pattern >> (n - 1 - k) & 1}
    return sum(1 << group for group in classes)


def _modules(
    states: Sequence[StateTuning],
    attributes: Sequence[tuple[int, ...]],
    keys: Sequence[Sequence[KeyColumn]],
) -> list[tuple[int, int, int]]:
    """Of each hash index: input, pattern and the classes of its attributes, as bits."""
    modules = []
    for port, state in enumerate(states):
        for pattern in sorted(state.modules):
            known = known_of(attributes[port], pattern)
            if index_name(keys[port], known):
                modules.append((port, pattern, known))
    return modules


def _routes(work: EddyOp, n: int) -> tuple[tuple[Route, ...], ...]:
    """As the text has them."""
    return tuple((order,) for order in probe_orders(work, n))
