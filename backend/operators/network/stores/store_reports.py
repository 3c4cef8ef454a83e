"""What the stores of a shard are, for people: stubs, tuples, bytes, what sharing saves."""

from __future__ import annotations

from backend.operators.network.core.layouts import StorePlan
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.reports import StoreReport, StubReport
from backend.operators.network.stores.stores import Store
from backend.operators.network.stores.synopses import STORES, layout_alone, noted_layout


def store_reports(plan: NetworkPlan, regions: Regions) -> tuple[StoreReport, ...]:
    """The stores of a shard that runs a plan, as they are; regions: all of the shard."""
    alone = {store.stubs[0].owner: store for store in layout_alone(plan)}
    stores = regions.scope(STORES)
    return tuple(_report(store, stores.scope(store.id), alone) for store in noted_layout(stores))


def _report(
    plan: StorePlan, regions: Regions, alone: dict[tuple[str, int], StorePlan]
) -> StoreReport:
    store = Store(regions, plan.format, len(plan.stubs))
    views = [store.stub(place) for place in range(len(plan.stubs))]
    stubs = tuple(
        StubReport(stub.operator, stub.port, view.n_tuples, store.hi - view.hi)
        for stub, view in zip(plan.stubs, views, strict=True)
    )
    n_bytes = plan.n_bytes(store.n_tuples)
    own = sum(alone[stub.operator, stub.port].n_bytes(stub.n_tuples) for stub in stubs)
    return StoreReport(plan.id, stubs, store.n_tuples, n_bytes, own - n_bytes)
