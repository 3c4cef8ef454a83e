"""The ways of single tuples through the plan, for people who want to follow one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from backend.model.bits import n_bits
from backend.operators.values import plain
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import PlanShape
from backend.systems.asc.matching import Regions, StopRule
from backend.systems.asc.walk import NOWHERE, Walk, jump_tables

#: Sampled tuples whose way is recorded with an evaluation.
N_PATHS: Final = 6


class PathFinder:
    """Follows single tuples through plans over one set of constructs; keeps their region labels."""

    def __init__(self, constructs: ConstructSet) -> None:
        self._constructs = constructs
        self._labels: dict[str, tuple[str, ...]] = {}

    def paths(
        self,
        shape: PlanShape,
        stop_rule: StopRule,
        values: Sequence[Mapping[str, Any]],
        regions: Regions,
    ) -> list[dict[str, Any]]:
        """JSON of each tuple's way under a plan; values: raw, regions: intp[T, n] of them.

        One object a tuple: ``values`` (p-attributes), ``steps`` in the order made and ``end``
        ('dropped': no query is left; 'matched'). A step: ``attribute``; ``row``, the region's row
        of qrb, and ``region``, its label; ``left``, live slots after it; ``by``, the arrow that
        led there: 'first', 'macro' or 'micro'. Under 'no early drop' every construct is a macro
        step. A lottery has no ways to show: no tuples under 'ticket'.
        """
        if shape.kind == "ticket" or not len(regions):
            return []
        steps = _all_steps if shape.kind == "no early drop" else _walked_steps
        ways = steps(self._constructs, shape, stop_rule, regions)
        return [self._path(row, way) for row, way in zip(values, ways, strict=True)]

    def _path(self, row: Mapping[str, Any], way: list[dict[str, Any]]) -> dict[str, Any]:
        for step in way:
            step["region"] = self._label(step["attribute"], step["row"])
        is_dropped = bool(way) and not way[-1]["left"]
        return {
            "values": {a: plain(row.get(a)) for a in self._constructs.attributes},
            "steps": way,
            "end": "dropped" if is_dropped else "matched",
        }

    def _label(self, attribute: str, region: int) -> str:
        if attribute not in self._labels:
            construct = self._constructs.constructs[attribute]
            self._labels[attribute] = construct.region_labels()
        return self._labels[attribute][region]


def _walked_steps(
    constructs: ConstructSet, shape: PlanShape, stop_rule: StopRule, regions: Regions
) -> list[list[dict[str, Any]]]:
    jumps = jump_tables(constructs, shape.arrows)
    walk = Walk(constructs, regions, shape.order, stop_rule)
    ways: list[list[dict[str, Any]]] = [[] for _ in regions]
    by = ["first"] * len(regions)
    while (walk.at != NOWHERE).any():
        at = walk.at.tolist()
        walk.visit()
        for t, column in enumerate(at):
            if column != NOWHERE:
                left = n_bits(walk.grb[t])
                ways[t].append(_step(constructs, column, regions[t, column], left, by[t]))
        by = ["micro" if micro else "macro" for micro in walk.advance(jumps).tolist()]
    return ways


def _all_steps(
    constructs: ConstructSet, shape: PlanShape, stop_rule: StopRule, regions: Regions
) -> list[list[dict[str, Any]]]:
    """Every construct in order, whatever is left; the stop rule stops nothing."""
    ways = []
    for hit in regions:
        grb = constructs.initial
        way: list[dict[str, Any]] = []
        for attribute in shape.order:
            column = constructs.attributes.index(attribute)
            grb = grb & constructs.constructs[attribute].qrb[hit[column]]
            left, by = n_bits(grb), "macro" if way else "first"
            way.append(_step(constructs, column, hit[column], left, by))
        ways.append(way)
    return ways


def _step(constructs: ConstructSet, column: int, region: int, left: int, by: str) -> dict[str, Any]:
    return {"attribute": constructs.attributes[column], "row": int(region), "left": left, "by": by}
