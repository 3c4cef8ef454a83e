"""How the caches and orders of a join are others than those before, in words."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.views.plan_changes import Nodes, came_and_gone, properties


def cache_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """Caches that came and went."""
    yield from came_and_gone(before, after, "cache", "{} is cached now", "{} is cached no more")


def order_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """Pipelines that probe in another order: 'Flights probes Weather first, then Planes'."""
    for id, node in after.items():
        orders = properties(node).get("pipelines")
        earlier = properties(before.get(id, {})).get("pipelines")
        if isinstance(orders, dict) and isinstance(earlier, dict):
            for name, order in orders.items():
                if name in earlier and earlier[name] != order:
                    yield f"{name} probes {', then '.join(map(str, order))}"
