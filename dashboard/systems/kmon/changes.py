"""How the constraints in use are others than those before, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dashboard.views.plan_changes import Nodes, properties


def constraint_changes(before: Nodes, after: Nodes) -> Iterator[str]:
    """Constraints that are used now, no more, or with another k."""
    for id, node in after.items():
        own, earlier = _constraints(node), _constraints(before.get(id, {}))
        if "constraints" not in properties(before.get(id, {})):
            continue
        yield from (
            f"{name} is used now, k = {k}" for name, k in own.items() if name not in earlier
        )
        yield from (f"{name} is used no more" for name in earlier if name not in own)
        for name, k in own.items():
            if name in earlier and earlier[name] != k:
                yield f"k of {name}: {earlier[name]} → {k}"


def _constraints(node: Any) -> dict[str, Any]:
    rows = properties(node).get("constraints")
    return {str(row.get("name")): row.get("k") for row in rows} if rows else {}
