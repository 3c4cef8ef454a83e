"""binary-join and mjoin: every element joins with the synopses of the other inputs (card A5).

The inputs are merged by τ. ⟨s,τ,±⟩ of one probes the others in the order of its pipeline; for each
combination s·t that is found ⟨s·t,τ,±⟩ goes out; then s is added to, or taken from, the synopsis
of its own input. NULL equals nothing; integers are compared with floating-point numbers as such.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.merging import Came
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins import join_kernel
from backend.operators.network.joins.join_tables import JoinTables
from backend.operators.network.joins.join_tuning import JoinProfile, JoinTuning
from backend.operators.network.joins.stored_joins import StoredJoin
from backend.operators.network.joins.tuned_joins import TunedJoin, pipeline_profiles
from backend.operators.network.kinds.joins import JoinOp


class WindowJoin(StoredJoin):
    """A join of two or more inputs. Raises ValueError: the operator is none, or has too few."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        n, work = len(planned.inputs), planned.doing(JoinOp)
        self._tables = JoinTables(planned, surroundings.plan, self._synopses)
        self._counts = np.zeros((n, n - 1, join_kernel.N_COUNT), np.int64)
        self._tuning = surroundings.tuning(planned, JoinTuning)
        regions = surroundings.regions.scope(planned.id)
        self._tuned = TunedJoin(work, self._tables, self._tuning or JoinTuning(), regions)

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
        counters = dict(zip(names, by_input.sum(axis=0).tolist(), strict=True))
        for port, row in enumerate(by_input.tolist()):
            counters |= {f"{name}_{port}": n for name, n in zip(names, row, strict=True)}
        return {**counters, **self.sample_counters}

    @property
    def selectivities(self) -> tuple[float | None, ...]:
        """For each input the share of the pairs compared that match; None: it was not probed."""
        return tuple(
            float(matches / pairs) if pairs else None for _, matches, pairs in self._by_input
        )

    @property
    def _by_input(self) -> Ints:
        by_input = np.zeros((len(self._synopses), 3), np.int64)
        counts = self._counts[:, :, [join_kernel.PROBES, join_kernel.MATCHES, join_kernel.PAIRS]]
        np.add.at(by_input, self._tables.steps[:, :, join_kernel.TARGET], counts)
        return by_input

    def profile(self) -> JoinProfile | None:
        """What it saw of its pipelines and caches since it was made; None: it is not tuned."""
        if self._tuning is None:
            return None
        pipelines = pipeline_profiles(self._came, self._counts, self._tuned)
        caches, shadows = self._tuned.cache_counts(), self._tuned.shadow_counts()
        return JoinProfile(pipelines, caches, shadows, self._processor_ns)

    def _probe(self, came: Came) -> Iterator[tuple[Ints, Ints]]:
        """Runs of results: the element of each, and the tuple of each input."""
        for synopsis in self._synopses:
            synopsis.store.take_up()
        stubs = [synopsis.stub for synopsis in self._synopses]
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

    def _renumbered(self, port: int, lo: int, moved: Ints) -> None:
        self._tuned.renumber(port, lo, moved)
