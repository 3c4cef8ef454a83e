"""Assessors that count one request at a time: the slow twins of AMRI's. Card A4.

Tables are lists of [pattern as a set of attributes, N, δ].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Attributes = frozenset[int]


def mask(attributes: Attributes, n: int) -> int:
    """B(ap): the first attribute is the most significant bit."""
    return int("".join("1" if a in attributes else "0" for a in range(n)) or "0", 2)


def attributes(pattern: int, n: int) -> Attributes:
    """The other way."""
    return frozenset(a for a, bit in enumerate(format(pattern, f"0{n}b")) if bit == "1" and n)


@dataclass
class Compact:
    """CSRIA and CDIA. choose: picks a parent of several (largest mask first); None: drop."""

    n: int
    epsilon: float
    theta: float
    literal: bool = False
    leaf: bool = False
    folds: bool = False
    choose: Callable[[list[Attributes]], Attributes] | None = None
    total: int = 0
    table: dict[Attributes, list[int]] = field(default_factory=dict)
    trace: list[tuple[Any, ...]] = field(default_factory=list)

    def s_id(self) -> int:
        """1-based, or as printed."""
        if self.literal:
            return math.floor(self.epsilon * self.total)
        segment, s_id = math.ceil(1 / self.epsilon), 1
        while s_id * segment < self.total:
            s_id += 1
        return max(s_id, 0 if self.total == 0 else 1)

    def observe(self, asked: Attributes) -> None:
        self.total += 1
        if asked in self.table:
            self.table[asked][0] += 1
        else:
            self.table[asked] = [1, self.s_id() - 1]
        if self.total % math.ceil(1 / self.epsilon) == 0:
            self.compress()

    def in_order(self) -> list[Attributes]:
        """The deepest level first, in it the largest mask."""
        return sorted(self.table, key=lambda a: (-len(a), -mask(a, self.n)))

    def compress(self) -> None:
        if not self.folds:
            for one in sorted(self.table, key=lambda a: -mask(a, self.n)):
                if sum(self.table[one]) <= self.s_id():
                    self.trace.append(("drop", mask(one, self.n), None, *self.table.pop(one)))
            return
        self.fold_where(self.is_folded)

    def is_folded(self, one: Attributes) -> bool:
        if self.leaf and any(one < other for other in self.table):
            return False
        weight, s_id = sum(self.table[one]), self.s_id()
        return weight < s_id if self.literal else weight <= s_id

    def fold_where(self, is_rare: Callable[[Attributes], bool]) -> None:
        done: set[Attributes] = set()
        while True:
            waiting = [one for one in self.in_order() if one and one not in done]
            if not waiting:
                return
            one = waiting[0]
            done.add(one)
            if is_rare(one):
                self.fold(one)

    def fold(self, one: Attributes) -> None:
        direct = sorted((one - {a} for a in one), key=lambda p: -mask(p, self.n))
        there = [p for p in direct if p in self.table]
        among = there or direct
        if self.choose is not None:
            into = self.choose(among)
        else:
            most = max(self.table[p][0] if p in self.table else 0 for p in among)
            into = next(p for p in among if (self.table[p][0] if p in self.table else 0) == most)
        n, delta = self.table.pop(one)
        self.trace.append(("fold", mask(one, self.n), mask(into, self.n), n, delta))
        if into in self.table:
            self.table[into][0] += n
        else:
            self.table[into] = [n, self.s_id() - 1]

    def report(self) -> dict[int, float]:
        """F by mask, the final step done on this very table."""
        if not self.folds:
            return {
                mask(one, self.n): n / self.total
                for one, (n, delta) in self.table.items()
                if one and (n + delta) / self.total >= self.theta - self.epsilon
            }

        def is_rare(one: Attributes) -> bool:
            n, delta = self.table[one]
            return (n if self.literal else n + delta) < self.theta * self.total

        self.fold_where(is_rare)
        return {mask(one, self.n): n / self.total for one, (n, _) in self.table.items() if one}


def exact(requests: Sequence[int]) -> dict[int, float]:
    """True frequencies of patterns by mask."""
    return {p: sum(r == p for r in requests) / len(requests) for p in set(requests) if p}
