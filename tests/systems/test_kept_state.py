"""What a unit learns between plans outlasts a kill at any batch: it knows and decides what one does
that was told the same and was never killed."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from backend.adaptive.words import REFILLED
from backend.systems.contract import MOST_STATE_BYTES, KeepsState, Recorded, UnitState, WantsMemory
from backend.systems.registry import SYSTEMS
from backend.systems.stream.system import NetworkSystem
from storage.tables.columns import dump_json, load_json
from storage.vocabulary.memory import Bid, Grant, divided
from storage.vocabulary.records import PlanVersion
from tests.systems.running import Bench, tuples
from tests.systems.test_contract import REFILLING, bench_of

NETWORKS = [system for system in SYSTEMS if isinstance(system, NetworkSystem)]
N_BATCHES, N_PAGES = 14, 6


def stored(value: Any) -> Any:
    """As it comes back from a store."""
    return load_json(dump_json(value))


def known(bench: Bench) -> Any:
    assert isinstance(bench.unit, KeepsState)
    return stored(bench.unit.facts())


def state_of(bench: Bench) -> UnitState:
    """What the store has of a unit."""
    plan: PlanVersion = bench.recorded.plans[-1]
    plan = replace(plan, **{name: stored(asdict(plan)[name]) for name in ("graph", "evidence")})
    totals: dict[str, dict[str, float]] = {}
    for sample in (sample for seen in bench.observations for sample in seen.samples):
        if sample.property.endswith("_total") and sample.value is not None:
            totals.setdefault(sample.entity, {})[sample.property] = sample.value
    n_decisions = max((decision.seq for decision in bench.recorded.decisions), default=0)
    looks, schemas = list[Any](), dict[int, Any]()
    for record in (stored(each.record) for each in bench.recorded.logged):
        spelt = schemas.setdefault(record["began"], record["schema"])
        looks.append({**record, "schema": spelt})
    return UnitState(plan, n_decisions, known(bench), totals=totals, looks=tuple(looks))


def divide(bench: Bench) -> dict[str, Bid]:
    """Grant what cores bid for of a small pool; the bids."""
    assert isinstance(bench.unit, WantsMemory)
    bids = dict(bench.unit.bids())
    pages, total = divided(N_PAGES, bids), sum(bid.weight for bid in bids.values()) or 1
    bench.unit.grant({id: Grant(pages[id], bid.weight / total) for id, bid in bids.items()})
    return bids


@pytest.mark.parametrize("system", NETWORKS, ids=lambda system: system.name)
@pytest.mark.parametrize("killed_after", [1, 4, 6, 9])
def test_a_killed_unit_knows_and_decides_what_an_undisturbed_one_does(
    system: NetworkSystem, killed_after: int
) -> None:
    bench, again = bench_of(system), bench_of(system)
    bench.keep(bench.unit.start(None))
    for batch in range(killed_after):
        bench.run(tuples(400, seed=batch // 4))
        divide(bench)
    again.batch = bench.batch
    again.unit = again.made(again.queries)
    refills = system.name in REFILLING
    assert again.unit.start(state_of(bench)) == Recorded(events=(REFILLED,) * refills)
    assert known(again) == known(bench)
    assert again.unit.inexact == bench.unit.inexact
    assert divide(again) == divide(bench)
    bench.recorded = Recorded()
    for batch in range(killed_after, N_BATCHES):
        bench.run(tuples(400, seed=batch // 4))
        again.unit.operator(batch)
        again.take(bench.events[-1])
        assert known(again) == known(bench) or refills, batch
        assert again.unit.inexact == bench.unit.inexact
        assert divide(again) == divide(bench), batch
    assert bench.recorded.decisions
    # that estimates go on is told by an event
    found, expected = (replace(one.recorded, events=()) for one in (again, bench))
    assert found == expected or refills
    assert len(dump_json(known(bench))) < MOST_STATE_BYTES / 32
