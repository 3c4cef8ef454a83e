"""How the routes and index bits of an eddy are others than those before, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dashboard.views.plan_changes import Nodes, properties


def route_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """Origins whose tuples take another route."""
    for id, node in after.items():
        routes, earlier = _routes(node), _routes(before.get(id, {}))
        for origin, route in routes.items():
            if origin in earlier and earlier[origin] != route:
                words = route if isinstance(route, str) else " → ".join(map(str, route))
                yield f"{origin} takes {words}"


def bit_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """States whose index has other bits."""
    for id, node in after.items():
        own, earlier = properties(node), properties(before.get(id, {}))
        bits = own.get("bits")
        if bits and "bits" in earlier and earlier["bits"] != bits:
            pairs = zip(own.get("attributes", ()), bits, strict=False)
            words = ", ".join(f"{name} {n}" for name, n in pairs)
            yield f"index bits of {node['name']}: {words}"


def _routes(node: Any) -> dict[str, Any]:
    rows = properties(node).get("routes")
    return {str(row.get("origin")): row.get("route") for row in rows} if rows else {}
