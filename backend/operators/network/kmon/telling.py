"""What a join under k-constraints tells of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from backend.operators.network.core.blocks import Bools
from backend.operators.network.core.merging import Came
from backend.operators.network.core.regions import Regions
from backend.operators.network.kinds.kmon import JoinedInput, KMonOp
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.estimates import ESTIMATE, HIGH, KEPT, LOW, K, N
from backend.operators.network.kmon.holding import WindowCount
from backend.operators.network.kmon.keeping import kept_tuples
from backend.operators.network.kmon.payloads import Payloads
from backend.operators.network.kmon.shape import KMonShape
from backend.operators.network.kmon.tuning import (
    MOST_TOLD,
    UNKNOWN_K,
    ComponentCounts,
    ConstraintId,
    ConstraintProfile,
    KChange,
    KMonProfile,
    SeenDistance,
)
from backend.operators.network.kmon.words import Memory


class BatchTelling:
    """Counts of a join since it was made. n_results, processor_ns: of it."""

    def __init__(self, regions: Regions, work: KMonOp, shape: KMonShape) -> None:
        self._work, self._shape = work, shape
        scope = regions.scope("counts")
        sizes = [_size(input) for input in work.inputs]
        self._plain = [WindowCount(scope, f"plain {k}", size) for k, size in enumerate(sizes)]
        #: Whose tuples each constraint lets go.
        self._ports = [_goers(work, id) for id in shape.ids]
        self._gone = [
            WindowCount(scope, f"gone {c}", sizes[port]) for c, port in enumerate(self._ports)
        ]
        self._before = np.zeros(len(shape.ids), np.int64)
        self._begun = scope.array("rate", "int64", 2 * len(work.inputs)).reshape(2, -1)
        self._repeated: list[str] = []
        self.n_results = self.processor_ns = 0

    def counts(self, passed: Sequence[Bools], came: Came, m: Memory) -> None:
        """Arrivals. passed: which of each input pass its filter."""
        for port, (count, passes) in enumerate(zip(self._plain, passed, strict=True)):
            mine = came.ports == port
            own, signs = came.tau[mine], came.signs[mine]
            if self._work.inputs[port].window != "range":
                own = m.inputs[port, w.COUNT] + 1 + np.arange(len(own))
            count.add(own[passes & (signs == 1)])
            count.lose(int(np.count_nonzero(passes & (signs == -1))))

    def take(self, m: Memory) -> None:
        """What a call did, before slots are given back."""
        for c, gone in enumerate(self._gone):
            n = int(m.constraints[c, w.EVICTED] - self._before[c])
            if n:
                gone.add(np.full(n, self._now(m, self._ports[c])))
        self._before = m.constraints[:, w.EVICTED].copy()
        n_told = len(self._repeated)
        slots = m.repeated[n_told : m.facts[w.REPEATED]].astype(np.int64)
        for port, number in zip(m.link(slots, w.INPUT), m.word(slots, w.NUMBER), strict=True):
            self._repeated.append(f"tuple {number} of {self._work.inputs[port].name}")

    def _now(self, m: Memory, port: int) -> int:
        is_time = self._work.inputs[port].window == "range"
        return int(m.facts[w.NOW] if is_time else m.inputs[port, w.COUNT])

    def components(self, m: Memory, payloads: Payloads) -> tuple[ComponentCounts, ...]:
        """The synopses of all inputs."""
        shape = self._shape
        to_be_found = 4 * (shape.n_entry + shape.n_buckets)
        in_slot = to_be_found + 8 * shape.n_words + 4 * shape.n_links
        components = []
        for port, row in enumerate(m.inputs[:, w.N_STATES :].tolist()):
            spilled = row[w.SPILLED] + row[w.SPILLED_YES]
            plain = self._plain[port].inside(self._now(m, port))
            components.append(
                ComponentCounts(
                    row[w.YES],
                    row[w.NO],
                    row[w.UNKNOWN],
                    spilled,
                    plain,
                    row_bytes=in_slot + payloads.row_bytes(port),
                    no_bytes=in_slot,
                    spilled_bytes=to_be_found,
                )
            )
        return tuple(components)

    def profile(self, m: Memory, payloads: Payloads) -> KMonProfile:
        """All of it."""
        return KMonProfile(
            components=self.components(m, payloads),
            constraints={id: self._constraint(m, c) for c, id in enumerate(self._shape.ids)},
            arrivals=tuple(m.inputs[:, w.COUNT].tolist()),
            n_results=self.n_results,
            n_repeated=int(m.facts[w.REPEATED]),
            repeated=tuple(self._repeated),
            monitor_ns=int(m.facts[w.WATCH_NS]) * w.TIMED,
            processor_ns=self.processor_ns,
            kept=kept_tuples(m, self._work),
        )

    def _constraint(self, m: Memory, c: int) -> ConstraintProfile:
        row, known = m.constraints[c].tolist(), m.known[c].tolist()
        n_seen = min(row[w.N_SEEN], MOST_TOLD)
        first = row[w.N_SEEN] - n_seen
        seen = [m.seen[c, (first + k) % MOST_TOLD].tolist() for k in range(n_seen)]
        changes = m.changes[: min(int(m.facts[w.N_CHANGES]), MOST_TOLD)].tolist()
        return ConstraintProfile(
            k=known[K],
            kept=known[KEPT],
            estimate=known[ESTIMATE],
            low=known[LOW],
            high=known[HIGH],
            n_window=known[N],
            n_observed=row[w.N_OBSERVED],
            largest=row[w.LARGEST],
            n_violations=row[w.VIOLATED],
            n_evicted=row[w.EVICTED],
            saved_tuples=self._saved(m, c),
            n_lost=row[w.LOST],
            n_returned=row[w.RETURNED],
            ticks=self._ticks(m, known[K], row[w.WHOSE]),
            bins=m.bins[c].copy(),
            changes=tuple(KChange(*rest) for own, *rest in changes if own == c),
            seen=tuple(SeenDistance(*distance) for distance in seen),
        )

    def _saved(self, m: Memory, c: int) -> int:
        """Tuples in their window that a constraint keeps out of memory; of a relation that changes
        its share of those that are not held, by how many each constraint let go."""
        port = self._ports[c]
        if self._work.inputs[port].window != "changing":
            return self._gone[c].inside(self._now(m, port))
        states = m.inputs[port, w.N_STATES :]
        away = self._plain[port].inside(0) - int(states[[w.YES, w.UNKNOWN]].sum())
        evicted = [
            own.inside(0) for own, of in zip(self._gone, self._ports, strict=True) if of == port
        ]
        return round(away * self._gone[c].inside(0) / max(1, sum(evicted)))

    def _ticks(self, m: Memory, k: int, port: int) -> int:
        """k as a time, at the rate of the arrivals it counts since the first of them."""
        count, now = int(m.inputs[port, w.COUNT]), int(m.facts[w.NOW])
        first, is_known = self._begun[:, port]
        if count and not is_known:
            self._begun[:, port] = now, 1
            first = now
        return UNKNOWN_K if k < 0 or not count else round(k * (now - int(first)) / count)


def _size(input: JoinedInput) -> int | None:
    return input.size if input.window in ("range", "rows") else None


def _goers(work: KMonOp, id: ConstraintId) -> int:
    """The input whose tuples a constraint lets go: parents that wait, or children."""
    if id.type == "RIDS":
        return id.parent
    if id.type == "OAC":
        return next(edge.parent for edge in work.edges if edge.child == id.child)
    return next(edge.child for edge in work.edges if edge.parent == id.parent)
