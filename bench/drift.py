"""The drift demo over its whole schedule: what the running order costs beside the best fixed ones.

Visits per tuple, counted, at the demo's knobs, the time after each change included: of each phase
beside the best fixed order for its tuples, and in all beside the sum of these and beside one order
for everything. No Spark, no clock: it comes out the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.knobs import KnobSettings
from backend.operators.contract import BatchResult
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.lattice import extreme_order
from backend.systems.asc.matching import Regions, sample_regions
from backend.workloads.drift import phases_from_json
from backend.workloads.sources import open_source
from backend.workloads.spec import SinkSpec, Workload, load_workload, shipped_workloads
from bench.fastpath_lanes import Noted

#: Of a live batch.
BATCH_TUPLES: Final = 500
#: Enough for the exact best order on all tuples.
_EFFORT: Final = 1e3


class Visited(NamedTuple):
    """Visits per tuple of some tuples: of the running order, and of the best fixed one there."""

    name: str
    n_tuples: int
    running: float
    best: float

    @property
    def ratio(self) -> float:
        """Of the running order."""
        return self.running / self.best


def main() -> None:
    """Print the table."""
    workload = load_workload(shipped_workloads()["drift"])
    phases = phases_from_json(workload.streams[0].source.options["phases"])
    print(f"\ndrift at its knobs, batches of {BATCH_TUPLES} tuples; visits per tuple, counted")
    print(f"  {'phase':34}{'running':>10}{'best':>10}{'x':>8}")
    for row in visited(workload, [phase.n_tuples for phase in phases]):
        print(f"  {row.name:34}{row.running:10.3f}{row.best:10.3f}{row.ratio:8.3f}", flush=True)


def visited(workload: Workload, lengths: Sequence[int]) -> list[Visited]:
    """Of every phase of so many tuples, of all, and of all beside one order. The workload has one
    stream; its tuples are as many as the phases have together."""
    (stream,) = workload.streams
    source = open_source(stream, Path())
    assert source is not None
    n_visits = _visits(workload, InputSource(stream, source), sum(lengths))
    constructs = build_constructs(workload.queries, stream.schema)
    tuples = source.slice(0, sum(lengths))
    values = {a: tuples.column(a).to_pylist() for a in constructs.attributes}
    regions, rule = sample_regions(constructs, values), _knobs(workload).stop_rule

    def best(own: Regions) -> float:
        extreme = extreme_order(constructs, own, rule, effort=_EFFORT)
        assert extreme.exact
        assert extreme.n == len(own)
        return extreme.cost

    visits, first = [], 0
    for number, length in enumerate(lengths):
        own = slice(first, first + length)
        running = float(n_visits[own].mean())
        visits.append(Visited(f"{number + 1}", length, running, best(regions[own])))
        first += length
    least = sum(phase.best * phase.n_tuples for phase in visits) / first
    running = float(n_visits.mean())
    visits.append(Visited("all, the best order of each phase", first, running, least))
    visits.append(Visited("all, one order for everything", first, running, best(regions)))
    return visits


def _knobs(workload: Workload) -> AscKnobs:
    specs = AscKnobs.specs()
    own = {spec.name: workload.knobs[spec.name] for spec in specs if spec.name in workload.knobs}
    return AscKnobs.of(KnobSettings.defaults(specs, own))


def _visits(workload: Workload, source: InputSource, n_tuples: int) -> NDArray[np.float64]:
    """float64[n_tuples]: visits of each tuple, the mean of its batch."""
    with TemporaryDirectory() as name:
        loop = Noted(workload, source, Path(name))
        LocalHost(loop, [source], SinkSpec(None), BATCH_TUPLES, once=True).run()
    counts = [result.n_tuples for result in loop.results]
    assert sum(counts) == n_tuples
    return np.repeat([_mean_visits(result) for result in loop.results if result.n_tuples], counts)


def _mean_visits(batch: BatchResult) -> float:
    reached = (n for unit in batch.units.values() for n in unit.report.reached.values())
    return float(sum(reached) / max(1, batch.n_tuples))
