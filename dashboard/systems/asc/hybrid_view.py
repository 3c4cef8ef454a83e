"""What the hybrid view shows: constructs in macro order, regions, micro-arrows, ways of tuples.

From the matrix ``arrows`` and the paths in the detail of decisions (docs/introspection.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.base.face import Skip
from dashboard.components.formats import show
from dashboard.systems.asc.matrix_view import region_label
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import Json, Matrix, PlanVersion

HYBRID: Final = "hybrid"
ARROWS: Final = "arrows"
#: Regions of a construct that are drawn; the others are one cell.
MOST_REGIONS: Final = 20


class Arrow(NamedTuple):
    """A micro-arrow. source, target: attributes; region: label; row: of the source's bitmap.

    support: sampled tuples it was decided on. gain: by how much its selectivity or dropping ratio
    beat the macro-arrow's. hit_prob, followed_prob: shares of the sampled tuples that visit the
    region, and that take the arrow; None without a sample.
    """

    source: str
    row: int
    region: str
    target: str
    support: int
    gain: float
    hit_prob: float | None
    followed_prob: float | None


class Region(NamedTuple):
    """A region of a construct. row: of its bitmap, None = several regions that are not drawn."""

    row: int | None
    label: str
    hit_prob: float | None


class HybridColumn(NamedTuple):
    """A column: one attribute selection construct with its regions in natural order.

    n_regions: those there are, drawn or not.
    """

    attribute: str
    regions: list[Region]
    n_regions: int


class HybridView(NamedTuple):
    """Constructs in macro order and their micro-arrows; n sampled tuples behind the shares."""

    constructs: list[HybridColumn]
    arrows: list[Arrow]
    n: int


class WayStep(NamedTuple):
    """A step of a tuple. by: what led there, 'first', 'macro' or 'micro'. left: queries possible
    after it, of those there were at the first step ``before`` it."""

    attribute: str
    row: int
    region: str
    value: str
    left: int
    by: str


class Way(NamedTuple):
    """The way of one sampled tuple. name: of the URL. end: 'dropped' or 'matched'."""

    name: str
    steps: list[WayStep]
    values: dict[str, str]
    end: str


class Ways(NamedTuple):
    """Ways of the newest sampled tuples, and the one followed, None when none is.

    decision, batch: the evaluation they were recorded with. plan: its plan's version.
    """

    ways: list[Way]
    followed: Way | None
    decision: int | None
    batch: int | None
    plan: int | None


NO_WAYS: Final = Ways([], None, None, None, None)


def build_hybrid(matrix: Matrix, keep: Collection[tuple[str, int]] = ()) -> HybridView:
    """The view of a matrix of kind 'arrows'. keep: (attribute, row) of regions to draw in any case.

    Of more than MOST_REGIONS regions those with an arrow, then those hit most are drawn.
    """
    stats = matrix.row_stats or {}
    rows: list[dict[str, Any]] = [
        {name: _at(stats, name, i) for name in _STATS} | {"cells": matrix.values[i], "text": text}
        for i, text in enumerate(matrix.rows)
    ]
    by_attribute: dict[str, list[dict[str, Any]]] = {name: [] for name in matrix.columns}
    for row in rows:
        if row["place"] is not None:
            by_attribute[matrix.columns[int(row["place"])]].append(row)
    arrows = [
        arrow
        for attribute, mine in by_attribute.items()
        for row in mine
        if (arrow := _arrow(attribute, row, matrix.columns)) is not None
    ]
    wanted = {(arrow.source, arrow.row) for arrow in arrows} | set(keep)
    constructs = [
        HybridColumn(attribute, _regions(attribute, mine, wanted), len(mine))
        for attribute, mine in by_attribute.items()
    ]
    return HybridView(constructs, arrows, matrix.n)


def build_ways(entries: Sequence[DecisionEntry], plan: int | None, node: str | None) -> Ways:
    """The ways recorded with the newest evaluation of plan version ``plan``, or else the newest.

    entries: newest first; the one ``node`` names ('<decision>.<number>') comes before all.
    """
    with_paths = [entry for entry in entries if _paths(entry)]
    seq, number = _named(node)
    named = [entry for entry in with_paths if entry.decision.seq == seq]
    under = [entry for entry in with_paths if _version(entry) == plan]
    chosen = next(iter([*named, *under, *with_paths]), None)
    if chosen is None:
        return NO_WAYS
    decision = chosen.decision
    ways = [_way(decision.seq, i, path) for i, path in enumerate(_paths(chosen))]
    followed = ways[number] if named and 0 <= number < len(ways) else None
    return Ways(ways[::-1], followed, decision.seq, decision.batch, _version(chosen))


def named_decision(node: str | None) -> int | None:
    """The decision a pinned tuple belongs to."""
    seq, _ = _named(node)
    return seq if seq >= 0 else None


_STATS: Final = ("place", "row", "support", "gain", "hit_prob", "followed_prob")


def _at(stats: Mapping[str, Json], name: str, i: int) -> Any:
    values = stats.get(name)
    return values[i] if values is not None and i < len(values) else None


def _label(row: Mapping[str, Any], attribute: str) -> str:
    return region_label(str(row["text"]).removeprefix(f"{attribute}: "))


def _arrow(attribute: str, row: Mapping[str, Any], columns: Sequence[str]) -> Arrow | None:
    targets = [name for name, gain in zip(columns, row["cells"], strict=True) if gain is not None]
    if not targets:
        return None
    return Arrow(
        source=attribute,
        row=int(row["row"]),
        region=_label(row, attribute),
        target=targets[0],
        support=int(row["support"] or 0),
        gain=float(row["gain"] or 0.0),
        hit_prob=row["hit_prob"],
        followed_prob=row["followed_prob"],
    )


def _regions(
    attribute: str, rows: list[dict[str, Any]], wanted: Collection[tuple[str, int]]
) -> list[Region]:
    """The regions to draw, in natural order, the others as one cell at the end."""
    ranked = sorted(
        rows,
        key=lambda row: ((attribute, row["row"]) not in wanted, -(row["hit_prob"] or 0.0)),
    )
    n_wanted = sum((attribute, row["row"]) in wanted for row in rows)
    shown = ranked[: max(MOST_REGIONS, n_wanted)]
    rest = ranked[len(shown) :]
    shown.sort(key=lambda row: row["row"])
    regions = [Region(int(row["row"]), _label(row, attribute), row["hit_prob"]) for row in shown]
    if rest:
        shares = [row["hit_prob"] for row in rest]
        share = None if None in shares else sum(shares)
        regions.append(Region(None, f"{len(rest)} others", share))
    return regions


def _paths(entry: DecisionEntry) -> list[Mapping[str, Any]]:
    detail = entry.decision.detail
    return list(detail.get("paths") or ()) if isinstance(detail, Mapping) else []


def _version(entry: DecisionEntry) -> int | None:
    """The plan its tuples went under: the one in force when it was evaluated."""
    old = entry.decision.old
    return old.get("version") if isinstance(old, Mapping) else None


def _named(node: str | None) -> tuple[int, int]:
    """Decision and number of a pinned tuple ('7.2'), (-1, -1) for any other node."""
    seq, _, number = (node or "").partition(".")
    return (int(seq), int(number)) if seq.isdigit() and number.isdigit() else (-1, -1)


def _way(seq: int, number: int, path: Mapping[str, Any]) -> Way:
    values = {name: _text(value) for name, value in (path.get("values") or {}).items()}
    steps = [
        WayStep(
            attribute=step["attribute"],
            row=int(step["row"]),
            region=region_label(step["region"]),
            value=values.get(step["attribute"], ""),
            left=int(step["left"]),
            by=step["by"],
        )
        for step in path.get("steps") or ()
    ]
    return Way(f"{seq}.{number}", steps, values, str(path.get("end", "")))


def _text(value: Json) -> str:
    return "NULL" if value is None else str(value)


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
        Skip(
            ids[way[0]], ids[way[1]], support / most if most else None, _way_words(way, n, support)
        )
        for (way, support), n in zip(supports.items(), regions.values(), strict=True)
    ]


def _way_words(way: tuple[str, str], n_regions: int, support: float) -> str:
    regions = "1 region" if n_regions == 1 else f"{n_regions} regions"
    tuples = f"{show(support, 'int')} sampled tuples"
    return f"{regions} of {way[0]} lead straight to {way[1]}, decided on {tuples}"
