"""The arrays of a join under k-constraints, in its regions; what differs from call to call is set
here, everything else is as the last call left it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.addressing import addressed
from backend.operators.network.core.blocks import Bools, Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.joins.clock_kernel import clock_overhead_ns
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.estimates import KEPT, Estimates, K, fresh, settings_of
from backend.operators.network.kmon.holding import TuplePlaces
from backend.operators.network.kmon.linking import spread_buckets
from backend.operators.network.kmon.shape import KMonShape
from backend.operators.network.kmon.tuning import DISTANCE_BINS, MOST_TOLD, KMonTuning
from backend.operators.network.kmon.watching import link_values
from backend.operators.network.kmon.words import Memory

#: Tuples and buckets at first; powers of two.
_FIRST: Final = 256
#: Changes of the running maximum of an ordered attribute that there is room for at first.
_FIRST_POINTS: Final = 1 << 6
#: Keys of dropped tuples that are known, of each join and side; a power of two. None is dropped
#: where nothing is lost.
_GHOSTS: Final = 1 << 13
#: Keys that may come once and are known, of each index; values that CA forgot and are known yet.
_KEYS: Final = 1 << 13
_PAST: Final = 1 << 11
#: Arrivals over which values and running maxima are remembered, where no larger k was declared.
_MOST_REMEMBERED: Final = 1 << 17
#: Results that a call makes at most.
RESULTS: Final = 1 << 14
_REPEATS: Final = 8
#: The arrays of ``Estimates`` in ``Memory``.
_ESTIMATES: Final = Memory._fields[-len(Estimates._fields) :]


class JoinState:
    """Regions of a join as ``Memory``. arrivals: that a call brings at most."""

    def __init__(
        self, regions: Regions, shape: KMonShape, tuning: KMonTuning, arrivals: int
    ) -> None:
        self._regions, self._shape, self._arrivals = regions, shape, arrivals
        self._inputs = self._carried("inputs", shape.inputs)
        self._edges = self._carried("edges", shape.edges)
        self._constraints = self._carried("constraints", shape.constraints)
        self._facts = self._facts_of()
        self._settings = np.zeros(w.END_SETTINGS, np.int64)
        self._estimates = self._estimates_of(tuning)
        self._tell(tuning)
        n, n_inputs = len(shape.ids), len(shape.inputs)
        self._clock = np.zeros(2, np.int64)
        self._facts[w.CLOCK_AT] = self._clock.ctypes.data
        self._facts[w.CLOCK_NS] = clock_overhead_ns()
        #: Arrays that stay as large as they are.
        self._fixed: dict[str, Any] = {
            "widths": shape.widths,
            "inputs": self._inputs,
            "edges": self._edges,
            "indexes": shape.indexes,
            "uses": shape.uses,
            "constraints": self._constraints,
            "steps": shape.steps,
            "facts": self._facts,
            "settings": self._settings,
            "out": np.empty((n_inputs, RESULTS), np.int32),
            "taus": np.empty(RESULTS, np.int64),
            "repeated": np.zeros(_REPEATS, np.int32),
            "removed": np.zeros((1 + arrivals, 3), np.int64),
            "over": np.zeros(n_inputs, np.int64),
            "cursors": np.zeros((2, n_inputs), np.int64),
            "changes": np.zeros((MOST_TOLD, w.CHANGE_WIDTH), np.int64),
            "seen": np.zeros((n, MOST_TOLD, 2), np.int64),
            "bins": np.zeros((n, DISTANCE_BINS), np.int64),
        }
        self._constraints[:, [w.EVICTED, w.LOST, w.RETURNED, w.VIOLATED]] = 0
        self._constraints[:, [w.N_SEEN, w.LARGEST, w.N_OBSERVED]] = 0
        self._facts[[w.REPEATED, w.N_CHANGES, w.WATCH_NS]] = 0

    def _carried(self, name: str, fresh_table: Ints) -> Ints:
        array = self._regions.array(name, "int64", fresh_table.size).reshape(fresh_table.shape)
        if not self._regions.array("begun", "int64", 1)[0]:
            array[:] = fresh_table
        return array

    def _facts_of(self) -> Ints:
        facts, begun = self._regions.array("facts", "int64", w.END_FACTS), self._begun
        if not begun[0]:
            facts[[w.LEVEL, w.AUX_HEAD]], facts[w.NOW], facts[w.IS_STALE] = -1, -1, 1
            begun[0] = 1
        return facts

    @property
    def _begun(self) -> Ints:
        return self._regions.array("begun", "int64", 1)

    def _estimates_of(self, tuning: KMonTuning) -> Estimates:
        """Those there are; begun anew where the window or the estimator is another."""
        first = fresh(len(self._shape.ids), tuning)
        made = [int(tuning.window), int(tuning.estimator == "literal")]
        noted = self._regions.array("estimated by", "int64", 2)
        scope = self._regions.scope("estimates")
        if noted.tolist() != made:
            scope.drop()
            noted[:] = made
        is_new = not scope.array("begun", "int64", 1)[0]
        arrays = []
        for name, values in zip(Estimates._fields, first, strict=True):
            array = scope.array(name, str(values.dtype), values.size).reshape(values.shape)
            if is_new or name == "settings":
                array[:] = values
            arrays.append(array)
        scope.array("begun", "int64", 1)[0] = 1
        return Estimates(*arrays)._replace(settings=settings_of(tuning))

    def _tell(self, tuning: KMonTuning) -> None:
        """How the join is to be executed."""
        settings, rows = self._settings, self._constraints
        settings[w.EXACT], settings[w.EVERY] = tuning.loss == "never", tuning.gc_arrivals
        settings[w.KEEPS_NO], settings[w.THRESHOLD] = tuning.keeps_no, tuning.threshold
        settings[w.SINGLE_ROOT] = int(self._inputs[:, w.IS_ROOT].sum()) == 1
        if self._shape.changes:
            settings[[w.REOPENS, w.EXACT]], settings[[w.KEEPS_NO, w.SINGLE_ROOT]] = 1, 0
        settings[w.SEED], settings[w.DRAW] = tuning.seed, round(tuning.sample_prob * 2**32)
        settings[w.DRAW_WEIGHT] = round(1 / tuning.sample_prob) if tuning.sample_prob > 0 else 1
        was_on = rows[:, [w.USED, w.WATCHED]].any(axis=1)
        was_declared = rows[:, w.DECLARED] >= 0
        rows[:, [w.USED, w.WATCHED]], rows[:, w.DECLARED] = 0, -1
        for constraint in tuning.constraints:
            if constraint.id in self._shape.ids:
                row = rows[self._shape.ids.index(constraint.id)]
                row[w.USED], row[w.WATCHED], row[w.DECLARED] = (
                    constraint.is_used,
                    constraint.is_watched,
                    constraint.declared,
                )
        is_on = rows[:, [w.USED, w.WATCHED]].sum(axis=1) > 0
        self._forgotten: Bools = np.logical_and(was_on, ~is_on)
        rows[self._forgotten, w.N_POINTS] = 0
        rows[:, w.CAP] = np.maximum(_MOST_REMEMBERED, rows[:, w.DECLARED] + 1)
        declared = rows[:, w.DECLARED] >= 0
        self._begin_anew(was_declared & ~declared, tuning)
        for column in (K, KEPT):
            self._estimates.rows[declared, column] = rows[declared, w.DECLARED]
        self._facts[w.IS_STALE] = 1

    def _begin_anew(self, constraints: Bools, tuning: KMonTuning) -> None:
        """Estimate some constraints whose k was declared until now: nothing is known of them."""
        first = fresh(len(constraints), tuning)
        for name in ("rows", "sums", "events", "bins", "waiting", "gone"):
            getattr(self._estimates, name)[constraints] = getattr(first, name)[constraints]

    def end(self, inputs: Ints) -> bool:
        """Inputs have no more arrivals, a k of 0 for whoever waits for one of them. inputs: whether
        each has, as in ``Memory``. Returns whether that is news in this batch."""
        over = self._fixed["over"]
        is_news = bool((over != inputs).any())
        over[:], self._facts[w.IS_STALE] = inputs, self._facts[w.IS_STALE] | is_news
        return is_news

    # ------------------------------------------------------------------ what grows

    def memory(self, places: TuplePlaces) -> Memory:
        """All of it, with room for all that was given a place; good until the next call."""
        shape = self._shape
        entries = self._grown("entries", "int32", shape.n_entry, places.slots.used)
        capacity = len(entries) // shape.n_entry
        n_buckets = len(self._regions.array("heads", "int32", _FIRST * shape.n_buckets))
        held = {
            "words": self._grown("words", "int64", shape.n_words, places.inside.used),
            "links": self._grown("links", "int32", shape.n_links, places.inside.used),
            "entries": entries,
            "aside_words": self._grown("words aside", "int64", shape.n_words, places.aside.used),
            "aside_links": self._grown("links aside", "int32", shape.n_links, places.aside.used),
            "heads": self._regions.resized("heads", capacity * shape.n_buckets),
            "points": self._points(),
            "ghosts": self._ghosts(),
            "past": self._array("past values", (len(shape.ids), _PAST, w.END_PAST)),
            "keys": self._array("known keys", (len(shape.indexes), _KEYS, w.END_KEY)),
        }
        aux, held["aux_heads"] = self._aux()
        held["aux"] = aux.reshape(-1, w.END_AUX)
        room = np.empty((2 * len(shape.edges) + 4) * capacity + 64, np.int64)
        buffers = {name: np.empty(capacity, np.int32) for name in ("freed", "thinned", "moved")}
        estimates = dict(zip(_ESTIMATES, self._estimates, strict=True))
        memory = Memory(**self._fixed, **held, **buffers, **estimates, stack=room)
        if n_buckets < len(memory.heads):
            spread_buckets(addressed(memory), n_buckets)
        return memory

    def _array(self, name: str, shape: tuple[int, ...]) -> Ints:
        return self._regions.array(name, "int64", int(np.prod(shape))).reshape(shape)

    def _points(self) -> Ints:
        """Running maxima, with room for what a call may add."""
        n, rows = self._shape.n_rings, self._constraints
        held = self._regions.array("points", "int64", n * _FIRST_POINTS * 2).reshape(n, -1, 2)
        room, rings = held.shape[1], rows[rows[:, w.RING] >= 0]
        grow = rings[rings[:, [w.USED, w.WATCHED]].any(axis=1), w.N_POINTS]
        needed = int(grow.max()) + self._arrivals if len(grow) else 0
        if needed <= room:
            return held
        before = held.copy()
        size = n * 2 * (1 << (needed - 1).bit_length())
        held = self._regions.resized("points", size).reshape(n, -1, 2)
        for row in rings:
            held[row[w.RING], :room] = np.roll(before[row[w.RING]], -row[w.FIRST_POINT], axis=0)
        rows[rows[:, w.RING] >= 0, w.FIRST_POINT] = 0
        return held

    def _ghosts(self) -> Ints:
        size = 1 if self._settings[w.EXACT] else _GHOSTS
        return self._array(f"ghosts {size}", (2 * len(self._shape.edges), size, w.END_GONE))

    def _grown(self, name: str, dtype: str, width: int, n: int) -> Ints:
        """An array of rows with room for n."""
        have = len(self._regions.array(name, dtype, _FIRST * width)) // width
        return self._regions.resized(name, width * max(have, 1 << max(0, n - 1).bit_length()))

    def _aux(self) -> tuple[Ints, NDArray[np.int32]]:
        """CA-Aux with room for what a call may add."""
        per_input = np.bincount(
            self._constraints[self._constraints[:, w.TYPE] == w.CA, w.WHOSE], minlength=1
        ).max()
        self._begin_aux()
        needed = int(self._facts[w.AUX_USED]) + self._arrivals * int(per_input)
        aux: Any = self._regions.array("aux", "int64", _FIRST * w.END_AUX)
        heads = self._regions.array("aux heads", "int32", _FIRST)
        if len(aux) < needed * w.END_AUX:
            size = 1 << (needed - 1).bit_length()
            aux = self._regions.resized("aux", size * w.END_AUX)
            heads = self._regions.resized("aux heads", size)
            link_values(aux.reshape(-1, w.END_AUX), heads, int(self._facts[w.AUX_USED]))
        if self._forgotten.any():
            self._forget_values(aux.reshape(-1, w.END_AUX), heads)
        return aux, heads

    def _begin_aux(self) -> None:
        """CA-Aux anew where an earlier version kept rows of another width."""
        width = self._regions.array("aux width", "int64", 1)
        if width[0] != w.END_AUX:
            self._regions.drop("aux")
            self._regions.drop("aux heads")
            self._facts[[w.AUX_USED, w.N_AUX]], self._facts[w.AUX_HEAD] = 0, -1
            width[0] = w.END_AUX

    def _forget_values(self, aux: Ints, heads: NDArray[np.int32]) -> None:
        """Of constraints that are not watched any more: what is missed in between counts."""
        past = self._array("past values", (len(self._shape.ids), _PAST, w.END_PAST))
        past[self._forgotten] = 0
        n = int(self._facts[w.AUX_USED])
        kept = ~self._forgotten[aux[:n, w.AUX_OF]] & (aux[:n, w.AUX_STATE] != w.AUX_FREE)
        own = aux[:n][kept].copy()
        aux[: len(own)] = own
        self._facts[[w.AUX_USED, w.N_AUX]], self._facts[w.AUX_HEAD] = len(own), -1
        link_values(aux, heads, len(own))
        self._forgotten[:] = False
