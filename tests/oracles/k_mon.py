"""Queries of many-one equi-joins with k-constraints, tuple by tuple: the slow twin of k-Mon.

[B05] chapter 6. Every list is searched from its beginning, garbage is collected after every
arrival, and results are kept with the tuples they are made of (errata D4, D5, D9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

Values = Mapping[str, Any]
Component = Literal["yes", "no", "unknown"]


class JoinedStream(NamedTuple):
    """A stream of the query. keep: its filters; range: of a time window (closed, erratum D1); rows:
    of a window of tuples; None = no window."""

    name: str
    keep: Callable[[Values], bool] = lambda values: True
    range: int | None = None
    rows: int | None = None


class JoinEdge(NamedTuple):
    """A join: each tuple of the parent joins at most one of the child. on: (attribute of the
    parent, attribute of the child), one or more."""

    parent: str
    child: str
    on: tuple[tuple[str, str], ...]


class Constraint(NamedTuple):
    """RIDS(k) of a join parent → child; CA(k) or OAP(k) of ``attribute`` of a parent, OAC(k) of
    ``attribute`` of a child."""

    type: Literal["RIDS", "CA", "OAP", "OAC"]
    k: int
    parent: str = ""
    child: str = ""
    attribute: str = ""


@dataclass(eq=False)
class Kept:
    """A tuple in a component. number: which arrival of its stream it was, from 1; stamps: child ->
    arrivals of that child before it; covered: parents none of whose tuples joins it any more."""

    stream: str
    values: Values
    tau: int
    number: int
    stamps: dict[str, int] = field(default_factory=dict)
    covered: set[str] = field(default_factory=set)


class KMon:
    """One query. results: of the joins now, as tuples of ``Kept`` in the order of the streams."""

    def __init__(
        self,
        streams: Sequence[JoinedStream],
        edges: Sequence[JoinEdge],
        constraints: Iterable[Constraint] = (),
        keeps_no: bool = True,
    ) -> None:
        self.streams = {one.name: one for one in streams}
        self.edges, self.constraints = tuple(edges), tuple(constraints)
        self.roots = {s for s in self.streams if not self._parents(s)}
        self.counts = dict.fromkeys(self.streams, 0)
        self.held: dict[str, dict[Component, list[Kept]]] = {
            name: {"yes": [], "no": [], "unknown": []} for name in self.streams
        }
        self.seen: dict[tuple[str, str], list[Any]] = {}
        self.forgotten: dict[Constraint, dict[Any, int]] = {}
        self.emitted: list[tuple[Kept, ...]] = []
        self.results: list[tuple[Kept, ...]] = []
        self._keeps_no = keeps_no

    # ------------------------------------------------------------------ the graph

    def _parents(self, child: str) -> list[JoinEdge]:
        return [edge for edge in self.edges if edge.child == child]

    def _children(self, parent: str) -> list[JoinEdge]:
        return [edge for edge in self.edges if edge.parent == parent]

    def _rids(self, edge: JoinEdge) -> int | None:
        """The k of RIDS on a join, None without."""
        ks = [
            c.k
            for c in self.constraints
            if c.type == "RIDS" and (c.parent, c.child) == (edge.parent, edge.child)
        ]
        return min(ks, default=None)

    def _is_bounded(self, edge: JoinEdge) -> bool:
        """Whether a constraint tells that the child of a tuple cannot come any more."""
        on_child = {b for _, b in edge.on}
        ordered = any(
            c.type == "OAC" and c.child == edge.child and c.attribute in on_child
            for c in self.constraints
        )
        return ordered or self._rids(edge) is not None

    def stores_no(self, stream: str) -> bool:
        """Whether No of a stream is kept: some parent may still have to meet it there."""
        edges = self._parents(stream)
        return self._keeps_no and bool(edges) and not all(map(self._is_bounded, edges))

    # ------------------------------------------------------------------ execution, B3

    def arrive(self, stream: str, values: Values, tau: int) -> None:
        """A tuple: windows, counters, insertion, windows of tuples, garbage."""
        for spec in self.streams.values():
            if spec.range is not None:
                self._expire(spec.name, partial(_is_before, tau - spec.range))
        self.counts[stream] += 1
        for name, value in values.items():
            self.seen.setdefault((stream, name), []).append(value)
        new = Kept(stream, values, tau, self.counts[stream])
        new.stamps = {e.child: self.counts[e.child] for e in self._children(stream)}
        self._insert(new)
        rows = self.streams[stream].rows
        if rows is not None:
            oldest = self.counts[stream] - rows
            self._expire(stream, lambda kept: kept.number <= oldest)
        self._collect()

    def _insert(self, new: Kept) -> None:
        edges = self._children(new.stream)
        if not self.streams[new.stream].keep(new.values):
            return self._put_no(new)
        if any(self._joining(edge, new, "no") for edge in edges):
            return self._put_no(new)
        if all(self._joining(edge, new, "yes") for edge in edges):
            return self._put_yes(new)
        if any(self._is_hopeless(edge, new) for edge in edges):
            return self._put_no(new)
        self.held[new.stream]["unknown"].append(new)
        return None

    def _put_yes(self, new: Kept) -> None:
        self.held[new.stream]["yes"].append(new)
        if new.stream in self.roots:
            found = self._joins_of(new)
            self.results += found
            self.emitted += found
        for edge in self._parents(new.stream):
            for waiting in self._joining_up(edge, new, ("unknown",)):
                self.held[waiting.stream]["unknown"].remove(waiting)
                self._insert(waiting)

    def _put_no(self, new: Kept) -> None:
        if self.stores_no(new.stream):
            self.held[new.stream]["no"].append(new)
        self._refute(new)

    def _refute(self, gone: Kept) -> None:
        """Parents of a tuple that is in no result any more."""
        for edge in self._parents(gone.stream):
            for parent in self._joining_up(edge, gone, ("yes", "unknown")):
                self._take(parent)
                self._put_no(parent)

    def _expire(self, stream: str, is_over: Callable[[Kept], bool]) -> None:
        """Tuples leave their window; results with them are over, whether or not they are kept."""
        self.results = [
            r for r in self.results if not any(k.stream == stream and is_over(k) for k in r)
        ]
        for component in ("yes", "unknown", "no"):
            for kept in [one for one in self.held[stream][component] if is_over(one)]:
                if kept in self.held[stream][component]:
                    self.held[stream][component].remove(kept)
                    self._refute(kept)

    def _take(self, kept: Kept) -> None:
        for component in self.held[kept.stream].values():
            if kept in component:
                component.remove(kept)

    # ------------------------------------------------------------------ joins

    def _joining(self, edge: JoinEdge, parent: Kept, component: Component) -> list[Kept]:
        return [
            child
            for child in self.held[edge.child][component]
            if _joins(edge, parent.values, child.values)
        ]

    def _joining_up(
        self, edge: JoinEdge, child: Kept, components: Sequence[Component]
    ) -> list[Kept]:
        return [
            parent
            for component in components
            for parent in self.held[edge.parent][component]
            if _joins(edge, parent.values, child.values)
        ]

    def _joins_of(self, new: Kept) -> list[tuple[Kept, ...]]:
        """Results with a new tuple of a root: one for each way through Yes of all other streams."""
        found: list[dict[str, Kept]] = [{new.stream: new}]
        open_edges = list(self.edges)
        while open_edges:
            edge = next(e for e in open_edges if {e.parent, e.child} & found[0].keys())
            open_edges.remove(edge)
            further: list[dict[str, Kept]] = []
            for one in found:
                if edge.parent in one:
                    others = self._joining(edge, one[edge.parent], "yes")
                    further += [{**one, edge.child: other} for other in others]
                else:
                    others = self._joining_up(edge, one[edge.child], ("yes",))
                    further += [{**one, edge.parent: other} for other in others]
            if not further:
                return []
            found = further
        return [tuple(one[name] for name in self.streams) for one in found]

    # ------------------------------------------------------------------ constraints, B4

    def _is_hopeless(self, edge: JoinEdge, parent: Kept) -> bool:
        """Whether the child of a tuple cannot come any more, and is not there."""
        if self._joining(edge, parent, "yes") or self._joining(edge, parent, "unknown"):
            return False
        k = self._rids(edge)
        if k is not None and parent.stamps[edge.child] + k <= self.counts[edge.child]:
            return True
        for c in self.constraints:
            if c.type == "OAC" and c.child == edge.child:
                bound = self._maximum(c.child, c.attribute, c.k)
                asked = [parent.values[a] for a, b in edge.on if b == c.attribute]
                if bound is not None and any(value < bound for value in asked):
                    return True
        return False

    def _maximum(self, stream: str, attribute: str, k: int) -> Any:
        """The running maximum k arrivals ago: no later value is below; None before there is one."""
        values = self.seen.get((stream, attribute), [])
        return max(values[: max(0, len(values) - k)], default=None)

    def _collect(self) -> None:
        """Garbage, in the one order that reaches a fixpoint in one pass (Example 6.10.1)."""
        for edge in self.edges:
            for parent in list(self.held[edge.parent]["unknown"]):
                if parent in self.held[edge.parent]["unknown"] and self._is_hopeless(edge, parent):
                    self._take(parent)
                    self._put_no(parent)
        for stream in self.streams:
            if not self.stores_no(stream):
                self.held[stream]["no"].clear()
        self._cover()

    def _cover(self) -> None:
        """Tuples that no future result needs (Theorem 6.7.1), by CA and OAP of their parents."""
        for stream in self.streams:
            edges = self._parents(stream)
            for component in ("yes", "unknown", "no"):
                for kept in list(self.held[stream][component]):
                    for edge in edges:
                        if self._is_past(edge, kept, component):
                            kept.covered.add(edge.parent)
                    if edges and self._is_needless(kept, component, edges):
                        self._drop(kept)
        self._forget()

    def _forget(self) -> None:
        """Values that come no more and no parent waits with: what comes with them later is not
        covered by CA, and their next arrival is a first one."""
        for c in self.constraints:
            if c.type != "CA":
                continue
            values = self.seen.get((c.parent, c.attribute), [])
            waiting = [kept.values[c.attribute] for kept in self.held[c.parent]["unknown"]]
            past = self.forgotten.setdefault(c, {})
            for value in set(values):
                span = values[past.get(value, 0) :]
                if value in span and _others(span, value) > c.k and value not in waiting:
                    past[value] = len(values)

    def _is_needless(self, kept: Kept, component: Component, edges: Sequence[JoinEdge]) -> bool:
        parents = {edge.parent for edge in edges}
        if component == "no":
            return parents <= kept.covered
        return self.roots <= parents and self.roots <= kept.covered

    def _is_past(self, edge: JoinEdge, kept: Kept, component: Component) -> bool:
        """Whether no tuple of the parent joins it later (C3), nor one that waits now (C2)."""
        if component != "no" and self._joining_up(edge, kept, ("unknown",)):
            return False
        return any(self._never_again(c, edge, kept) for c in self.constraints)

    def _never_again(self, c: Constraint, edge: JoinEdge, kept: Kept) -> bool:
        own = dict(edge.on).get(c.attribute)
        if c.parent != edge.parent or own is None:
            return False
        value, values = kept.values[own], self.seen.get((c.parent, c.attribute), [])
        if c.type == "CA":
            span = values[self.forgotten.get(c, {}).get(value, 0) :]
            return value in span and _others(span, value) > c.k
        if c.type == "OAP":
            bound = self._maximum(c.parent, c.attribute, c.k)
            return bound is not None and value < bound
        return False

    def _drop(self, kept: Kept) -> None:
        """Without a trace: with the parents and ancestors that join it."""
        self._take(kept)
        for edge in self._parents(kept.stream):
            for parent in self._joining_up(edge, kept, ("yes", "no")):
                self._drop(parent)


def _joins(edge: JoinEdge, parent: Values, child: Values) -> bool:
    """NULL joins nothing (erratum D16)."""
    return all(parent[a] is not None and parent[a] == child[b] for a, b in edge.on)


def _is_before(tau: int, kept: Kept) -> bool:
    return kept.tau < tau


def _others(values: Sequence[Any], value: Any) -> int:
    """Arrivals of other values since the first of this one."""
    return sum(one != value for one in values[values.index(value) :])


# ---------------------------------------------------------------------- distances, B1


def join_distance(arrivals: Sequence[tuple[str, Any]], parent: str, child: str) -> int:
    """The least k for which RIDS(k) holds. arrivals: (stream, key) in the order they came."""
    worst = 0
    for at, (stream, key) in enumerate(arrivals):
        if stream != parent or (child, key) in arrivals[:at] or (child, key) not in arrivals[at:]:
            continue
        until = arrivals.index((child, key), at)
        worst = max(worst, sum(one[0] == child for one in arrivals[at : until + 1]))
    return worst


def clustering_distance(values: Sequence[Any]) -> int:
    """The least k for which CA(k) holds: other values between the first and the last of one."""
    spans = (
        values[values.index(v) : len(values) - list(reversed(values)).index(v)] for v in set(values)
    )
    return max((sum(one != span[0] for one in span) for span in spans), default=0)


def scrambling_distance(values: Sequence[Any]) -> int:
    """The least k for which OA(k) holds: how far behind a greater value a smaller one comes."""
    return max(
        (j - i for j, late in enumerate(values) for i in range(j) if values[i] > late), default=0
    )


# ---------------------------------------------------------------------- estimates, B6


def estimates(distances: Iterable[int], window: int) -> list[int | None]:
    """k in use after each observed distance, None = not used. As the thesis says it: the greatest
    of the last ``window`` since an increase, and none at once when one is above (erratum D10)."""
    k: int | None = None
    since: list[int] = []
    found: list[int | None] = []
    for distance in distances:
        if k is not None and distance > k:
            k, since = None, []
        else:
            since.append(distance)
            if len(since) >= window:
                k = max(since[-window:])
        found.append(k)
    return found


def scrambling_distances(values: Sequence[Any]) -> list[int]:
    """Of each arrival, how far behind the first greater value it comes."""
    return [
        max((j - i for i in range(j) if values[i] > late), default=0)
        for j, late in enumerate(values)
    ]


def clustering_distances(values: Sequence[Any]) -> list[int]:
    """Of each arrival, other values since the first of its own."""
    return [_others(values[:at], v) if v in values[:at] else 0 for at, v in enumerate(values)]
