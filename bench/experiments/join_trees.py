"""XJoins: trees of binary joins that keep every subresult but the last. [B05] §5.2.2, card 8"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from backend.operators.network.blocks import Block
from backend.operators.network.join_tuning import JoinTuning
from backend.operators.network.plan import JoinOp
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
#: On one attribute: a result has it wherever its parts have it.
_EQUAL = JoinOp((((0, 0), (1, 0)),))
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
        left = (first, *(one for k, one in enumerate(others) if picked >> k & 1))
        right = tuple(one for k, one in enumerate(others) if not picked >> k & 1)
        for a in trees(left):
            for b in trees(right):
                yield a, b


class _Node:
    """A join of two subtrees, at work. n_kept: elements of subresults that it took;
    n_held, most_held: references in those."""

    def __init__(self, tree: JoinTree, arrivals: Arrivals) -> None:
        assert isinstance(tree, tuple)
        self.parts = [one if isinstance(one, int) else _Node(one, arrivals) for one in tree]
        widths = [_width(one) for one in tree]
        bags = [k for k, one in enumerate(tree) if not isinstance(one, int)]
        self.join = BenchJoin(_EQUAL, widths, bags)
        self.n_kept = self.n_held = self.most_held = 0

    def run(self, inputs: list[SignedElements]) -> SignedElements:
        """The results of some elements of the streams."""
        taken = []
        for one in self.parts:
            found = inputs[one] if isinstance(one, int) else one.run(inputs)
            if not isinstance(one, int):
                self._keep(found)
            taken.append(found)
        return _elements(self.join.run(taken))

    def _keep(self, found: SignedElements) -> None:
        """A subresult changes; a tuple of it refers to one of each stream."""
        self.n_kept += len(found.places)
        held = self.n_held + np.cumsum(found.signs) * found.values.shape[1]
        self.n_held = int(held[-1]) if len(held) else self.n_held
        self.most_held = max(self.most_held, int(held.max(initial=0)))

    def nodes(self) -> Iterator[_Node]:
        """Itself and those below."""
        yield self
        for one in self.parts:
            if isinstance(one, _Node):
                yield from one.nodes()

    def begin_counting(self) -> None:
        for one in self.nodes():
            one.join.tune(JoinTuning())
            one.n_kept = 0


def run_tree(tree: JoinTree, arrivals: Arrivals) -> TreeRun:
    """As ``forced`` runs a pipeline of joins."""
    root, n = _Node(tree, arrivals), len(arrivals.streams)
    inputs, warm = elements(arrivals), int(WARM * n)
    root.run(between(inputs, 0, warm))
    root.begin_counting()
    root.run(between(inputs, warm, n))
    probes = built = scans = kept = n_bytes = 0
    for node in root.nodes():
        done = node.join.operations(n - warm)
        probes, built, scans = probes + done.probes, built + done.built, scans + done.scans
        kept += node.n_kept
        n_bytes += _REFERENCE_BYTES * node.most_held
    found = Operations(n - warm, probes, built, scans, kept, results=root.join.n_results)
    return TreeRun(tree, found, n_bytes)


def _width(tree: JoinTree) -> int:
    return 1 if isinstance(tree, int) else sum(map(_width, tree))


def _elements(block: Block) -> SignedElements:
    values = np.stack([column.values for column in block.columns], axis=1)
    return SignedElements(block.tau, block.sign, values)
