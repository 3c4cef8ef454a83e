"""Ways past others in a plan: where some tuples leave its order, and which share of them does."""

from __future__ import annotations

from dashboard.base.face import Skip
from dashboard.components.formats import show
from storage.vocabulary.records import PlanVersion


def skips_of(plan: PlanVersion) -> list[Skip]:
    """The ways of a plan that records arrows, [from, region, to, support, gain] each, by names; all
    arrows between two nodes are one way."""
    nodes = plan.graph.get("nodes", [])
    ids = {str(node["name"]): str(node["id"]) for node in nodes if node["id"] in plan.order}
    regions: dict[tuple[str, str], int] = {}
    supports: dict[tuple[str, str], float] = {}
    for source, _, target, support, *_ in plan.evidence.get("arrows", ()):
        if source in ids and target in ids:
            way = str(source), str(target)
            regions[way] = regions.get(way, 0) + 1
            supports[way] = supports.get(way, 0.0) + float(support or 0)
    most = sum(supports.values())
    return [
        Skip(ids[way[0]], ids[way[1]], support / most if most else None, _words(way, n, support))
        for (way, support), n in zip(supports.items(), regions.values(), strict=True)
    ]


def _words(way: tuple[str, str], n_regions: int, support: float) -> str:
    regions = "1 region" if n_regions == 1 else f"{n_regions} regions"
    tuples = f"{show(support, 'int')} sampled tuples"
    return f"{regions} of {way[0]} lead straight to {way[1]}, decided on {tuples}"
