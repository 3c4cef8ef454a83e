"""The lattice of a state's access patterns: how often each is asked, by whom, what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from storage.tables.rows import StoredMatrix
from storage.vocabulary.amri_patterns import Pattern, attributes_of, parents

#: Attributes up to which patterns that nobody asked for are drawn, too.
MOST_WHOLE: Final = 4


class LatticeNode(NamedTuple):
    """An access pattern. share, most: its frequency, and that with what may have been missed (N and
    N + δ of the requests assessed; before an assessment the share of the requests). n, delta: None
    before one. reported: by it; folded: the pattern it was folded into, '' = it was dropped, None =
    neither. routes: that lead to it, origin first. x: its place in its level, 0 to 1."""

    pattern: Pattern
    text: str
    level: int
    x: float
    share: float
    most: float
    n: float | None
    delta: float | None
    reported: bool
    folded: str | None
    into: Pattern | None
    expected: float | None
    routes: tuple[str, ...]
    is_rare: bool


class LatticeView(NamedTuple):
    """Of a state, as of a batch. theta: share from which patterns are reported; assessed: requests
    of the last assessment, None = none ended yet. covers: pairs of nodes, the larger one first."""

    state: str
    attributes: tuple[str, ...]
    nodes: tuple[LatticeNode, ...]
    covers: tuple[tuple[Pattern, Pattern], ...]
    theta: float | None
    assessed: int | None
    batch: int

    def node(self, pattern: Pattern) -> LatticeNode:
        """The node of a pattern."""
        return next(node for node in self.nodes if node.pattern == pattern)


def build_lattice(
    stored: StoredMatrix, state: str, attributes: Sequence[str], theta: float | None
) -> LatticeView:
    """A matrix of kind PATTERNS; columns and facts that older ones lack are not known."""
    facts: Mapping[str, Sequence[Any]] = stored.matrix.row_stats
    n, rows = len(attributes), _rows(stored)
    total = next(iter(facts.get("assessed", ())), None)
    every = range(1 << n) if n <= MOST_WHOLE else sorted({0, *rows})
    levels: dict[int, list[Pattern]] = {}
    for pattern in sorted(every, reverse=True):
        levels.setdefault(pattern.bit_count(), []).append(pattern)
    nodes = [
        _node(pattern, (place + 0.5) / len(level), rows.get(pattern, {}), attributes, theta, total)
        for level in levels.values()
        for place, pattern in enumerate(level)
    ]
    drawn = {node.pattern for node in nodes}
    covers = [(p, q) for p in drawn for q in parents(p, n) if q in drawn]
    return LatticeView(
        state, tuple(attributes), tuple(nodes), tuple(sorted(covers, reverse=True)), theta, total,
        stored.batch,
    )  # fmt: skip


def _rows(stored: StoredMatrix) -> dict[Pattern, dict[str, Any]]:
    """By pattern what is on record of it."""
    matrix, facts = stored.matrix, stored.matrix.row_stats
    none = [None] * len(matrix.rows)
    folded, asked = (facts.get(name, none) for name in ("folded into", "asked by"))
    rows = zip(facts["pattern"], matrix.values, folded, asked, strict=True)
    return {
        pattern: {**dict(zip(matrix.columns, row, strict=True)), "into": into, "routes": routes}
        for pattern, row, into, routes in rows
    }


def _node(
    pattern: Pattern,
    x: float,
    row: Mapping[str, Any],
    attributes: Sequence[str],
    theta: float | None,
    total: int | None,
) -> LatticeNode:
    n, delta, into = row.get("counted"), row.get("delta"), row.get("into")
    share, most = row.get("share") or 0.0, row.get("share") or 0.0
    if total:
        share, most = (n or 0.0) / total, ((n or 0.0) + (delta or 0.0)) / total
    reported = row.get("reported") is not None
    gone = bool(total) and n is None and bool(row.get("requests")) and not reported and into is None
    folded = pattern_name(into, attributes) if into is not None else "" if gone else None
    return LatticeNode(
        pattern, pattern_name(pattern, attributes), pattern.bit_count(), x, share, most, n, delta,
        reported, folded, into, row.get("predicted"), tuple(row.get("routes") or ()),
        theta is not None and most < theta,
    )  # fmt: skip


def pattern_name(pattern: Pattern, attributes: Sequence[str]) -> str:
    """'a, c'; 'none' asks for a scan."""
    return ", ".join(attributes[a] for a in attributes_of(pattern, len(attributes))) or "none"
