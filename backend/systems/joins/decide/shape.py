"""What a join is to those who decide on it: its inputs, what is equal, who joins with whom.

Inputs are counted from 0. Two inputs are neighbours in the join graph when an equality class holds
attributes of both (equalities are closed under transitivity already).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from backend.operators.network.kinds.joins import JoinOp

#: For each input in which order the others are joined with its elements.
Orders: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class JoinShape:
    """n: inputs. classes: of each equality class the inputs with an attribute in it. names: of the
    inputs, for people."""

    n: int
    classes: tuple[frozenset[int], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, work: JoinOp, n_inputs: int, names: Sequence[str] = ()) -> JoinShape:
        """Of a join operator. names: as many as inputs, or none (then R1, R2...).

        Raises ValueError: fewer than two inputs, a class names an input that is not there, or the
        number of names is another.
        """
        if n_inputs < 2:
            raise ValueError(f"a join of {n_inputs} inputs; at least 2 are needed")
        classes = tuple(frozenset(i for i, _ in members) for members in work.equal)
        strange = sorted({i for members in classes for i in members if not 0 <= i < n_inputs})
        if strange:
            raise ValueError(f"equality classes name inputs {strange}; there are 0..{n_inputs - 1}")
        if names and len(names) != n_inputs:
            raise ValueError(f"{len(names)} names for a join of {n_inputs} inputs")
        return cls(n_inputs, classes, tuple(names) or tuple(f"R{i + 1}" for i in range(n_inputs)))

    def neighbours(self, input: int) -> tuple[int, ...]:
        """The inputs it shares a class with, ascending."""
        classes = {other for members in self.classes if input in members for other in members}
        return tuple(sorted(classes - {input}))

    def component(self, input: int, within: Collection[int] | None = None) -> frozenset[int]:
        """The inputs one can get to from an input, itself included, over inputs ``within``."""
        allowed = set(range(self.n)) if within is None else set(within)
        component, waiting = {input}, [input]
        while waiting:
            for other in self.neighbours(waiting.pop()):
                if other in allowed and other not in component:
                    component.add(other)
                    waiting.append(other)
        return frozenset(component)

    def key(self, before: Collection[int], segment: Collection[int]) -> tuple[int, ...]:
        """The classes that have attributes on both sides: the key K of a cache of ``segment`` that
        is looked up with tuples of ``before``."""
        return tuple(
            number
            for number, members in enumerate(self.classes)
            if not members.isdisjoint(before) and not members.isdisjoint(segment)
        )

    def path(self, start: int, end: int) -> tuple[int, ...]:
        """The inputs from ``start`` (left out) to ``end`` in the spanning tree of ``start``; empty
        when there is no way. §5.3

        The tree is that of a breadth-first walk, neighbours ascending: in an acyclic join graph its
        paths are the only ones, in a cyclic one they are shortest.
        """
        return _paths(self, start)[end]

    def operators(self, input: int, filters: Sequence[int]) -> tuple[int, ...]:
        """The pipeline of an input that evaluates logical filters in an order. §5.3

        filters: the other inputs; that of R_j stands for the join along the path to R_j. Each adds
        the inputs of its path that are not there yet, in path order. Inputs without a path follow,
        the only Cartesian products there are, each with what it can be joined with.
        """
        reachable = self.component(input)
        placed: list[int] = []
        near = [j for j in filters if j in reachable]
        far = [j for j in filters if j not in reachable]
        for end in near:
            placed += [j for j in self.path(input, end) if j not in placed]
        while far:
            start, together = far[0], self.component(far[0])
            for end in [j for j in far if j in together]:
                placed += [j for j in (start, *self.path(start, end)) if j not in placed]
            far = [j for j in far if j not in together]
        return tuple(placed)


@lru_cache(maxsize=1024)
def _paths(shape: JoinShape, start: int) -> tuple[tuple[int, ...], ...]:
    """By end: the path of the breadth-first spanning tree."""
    paths: dict[int, tuple[int, ...]] = {start: ()}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for other in shape.neighbours(here):
            if other not in paths:
                paths[other] = (*paths[here], other)
                waiting.append(other)
    return tuple(paths.get(end, ()) for end in range(shape.n))
