"""XJoins: trees of binary joins that keep every subresult but the last. [B05] §5.2.2, card 8"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from backend.operators.network.core.blocks import Block
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from bench.experiments.join_running import (
    WARM,
    Arrivals,
    BenchJoin,
    Operations,
    SignedElements,
    between,
    elements,
)

#: A stream, or the join of two trees.
JoinTree: TypeAlias = "int | tuple[JoinTree, JoinTree]"
_REFERENCE_BYTES = 8


class TreeRun(NamedTuple):
    """A tree on some tuples. n_bytes: of the references it kept, at their most."""

    tree: JoinTree
    operations: Operations
    n_bytes: int


def trees(inputs: tuple[int, ...]) -> Iterator[JoinTree]:
    """All binary trees over some streams; sides do not matter: 1, 3, 15 for 2, 3, 4."""
    if len(inputs) == 1:
        yield inputs[0]
        return
    first, others = inputs[0], inputs[1:]
    for picked in range(2 ** len(others) - 1):
        left = (first, *(input for k, input in enumerate(others) if picked >> k & 1))
        right = tuple(input for k, input in enumerate(others) if not picked >> k & 1)
        for a in trees(left):
            for b in trees(right):
                yield a, b


class TreeJoin:
    """A join of two subtrees, at work. leaves: its streams, in the order of its results' columns.
    n_kept: elements of subresults that it took; n_held, most_held: references in those."""

    def __init__(self, tree: JoinTree, work: JoinOp, widths: Sequence[int]) -> None:
        assert isinstance(tree, tuple)
        self.parts = [
            part if isinstance(part, int) else TreeJoin(part, work, widths) for part in tree
        ]
        self.leaves = tuple(leaf for part in tree for leaf in _leaves(part))
        sides = [_leaves(part) for part in tree]
        self._width = sum(widths[leaf] for leaf in self.leaves)
        bags = [k for k, part in enumerate(tree) if not isinstance(part, int)]
        side_widths = [sum(widths[leaf] for leaf in side) for side in sides]
        self.join = BenchJoin(_between_sides(work, sides, widths), side_widths, bags)
        self.n_kept = self.n_held = self.most_held = 0

    def run(self, inputs: Sequence[SignedElements]) -> SignedElements:
        """The results of some elements of the streams."""
        taken = []
        for part in self.parts:
            results = inputs[part] if isinstance(part, int) else part.run(inputs)
            if not isinstance(part, int):
                self._keep(results, len(part.leaves))
            taken.append(results)
        return _elements(self.join.run(taken), self._width)

    def _keep(self, results: SignedElements, n_references: int) -> None:
        """A subresult changes; a tuple of it refers to one of each stream."""
        self.n_kept += len(results.places)
        held = self.n_held + np.cumsum(results.signs) * n_references
        self.n_held = int(held[-1]) if len(held) else self.n_held
        self.most_held = max(self.most_held, int(held.max(initial=0)))

    def nodes(self) -> Iterator[TreeJoin]:
        """Itself and those below."""
        yield self
        for part in self.parts:
            if isinstance(part, TreeJoin):
                yield from part.nodes()

    def begin_counting(self) -> None:
        """Counts begin anew."""
        for node in self.nodes():
            node.join.tune(JoinTuning())
            node.n_kept = 0

    def operations(self, n_arrivals: int) -> Operations:
        """Since counting began, over so many tuples."""
        probes = built = scans = kept = 0
        for node in self.nodes():
            done = node.join.operations(n_arrivals)
            probes, built, scans = probes + done.probes, built + done.built, scans + done.scans
            kept += node.n_kept
        return Operations(n_arrivals, probes, built, scans, kept, results=self.join.n_results)


def run_tree(tree: JoinTree, work: JoinOp, arrivals: Arrivals) -> TreeRun:
    """As ``forced`` runs a pipeline of joins."""
    root, n = TreeJoin(tree, work, arrivals.widths), len(arrivals.streams)
    inputs, warm = elements(arrivals), int(WARM * n)
    root.run(between(inputs, 0, warm))
    root.begin_counting()
    root.run(between(inputs, warm, n))
    n_bytes = sum(_REFERENCE_BYTES * node.most_held for node in root.nodes())
    return TreeRun(tree, root.operations(n - warm), n_bytes)


def is_connected(tree: JoinTree, work: JoinOp) -> bool:
    """Whether no node is a Cartesian product."""
    if isinstance(tree, int):
        return True
    sides = [_leaves(part) for part in tree]
    shared = [
        all(any(input in side for input, _ in members) for side in sides) for members in work.equal
    ]
    return any(shared) and all(is_connected(part, work) for part in tree)


def _between_sides(work: JoinOp, sides: Sequence[tuple[int, ...]], widths: Sequence[int]) -> JoinOp:
    """What is equal between two sides; within each it is so already."""
    classes = []
    for members in work.equal:
        places = []
        for k, side in enumerate(sides):
            own = [(k, _offset(side, widths, *member)) for member in members if member[0] in side]
            places += own[:1]
        if len(places) == len(sides):
            classes.append(tuple(places))
    return JoinOp(tuple(classes))


def _offset(side: tuple[int, ...], widths: Sequence[int], input: int, column: int) -> int:
    """Where a column of a stream is among those of a side."""
    return sum(widths[leaf] for leaf in side[: side.index(input)]) + column


def _leaves(tree: JoinTree) -> tuple[int, ...]:
    if isinstance(tree, int):
        return (tree,)
    return tuple(leaf for part in tree for leaf in _leaves(part))


def _elements(block: Block, width: int) -> SignedElements:
    values = np.stack([column.values for column in block.columns], axis=1)
    return SignedElements(block.tau, block.sign, values.reshape(-1, width))
