"""How the caches and orders of a join are others than those before, in words."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.views.plan_changes import Nodes, properties


def cache_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """Caches that came and went."""
    for id, node in after.items():
        if node.get("role") == "cache" and id not in before:
            yield f"{node['name']} is cached now"
    for id, node in before.items():
        if node.get("role") == "cache" and id not in after:
            yield f"{node['name']} is cached no more"


def order_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """Pipelines that probe in another order: 'Flights probes Weather first, then Planes'."""
    for id, node in after.items():
        orders = properties(node).get("pipelines")
        earlier = properties(before.get(id, {})).get("pipelines")
        if isinstance(orders, dict) and isinstance(earlier, dict):
            for name, order in orders.items():
                if name in earlier and earlier[name] != order:
                    yield f"{name} probes {', then '.join(map(str, order))}"
