"""Coalescing and load shedding written out: sets of instants, fractions, everything looked at.

Slow twin of `backend.operators.network.shedding`. A tuple is (number, values, start, end). Card B1
to B3, B7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

Tuple = tuple[int, Any, int, int]
#: values, start, end.
Run = tuple[Any, int, int]
Condition = Callable[[int], bool]


def runs(tuples: Iterable[Tuple]) -> list[Run]:
    """Maximal stretches of instants in which a value holds."""
    instants: dict[Any, set[int]] = {}
    for _, values, start, end in tuples:
        instants.setdefault(values, set()).update(range(start, end))
    found = []
    for values, covered in instants.items():
        for begin in sorted(t for t in covered if t - 1 not in covered):
            end = begin
            while end in covered:
                end += 1
            found.append((values, begin, end))
    return found


def run_with(of: Tuple, tuples: Iterable[Tuple]) -> Run:
    """The run a tuple is in."""
    return next(run for run in runs(tuples) if run[0] == of[1] and run[1] <= of[2] < run[2])


def members(run: Run, tuples: Iterable[Tuple]) -> list[Tuple]:
    """The tuples of a run."""
    return [one for one in tuples if one[1] == run[0] and run[1] <= one[2] < run[2]]


def pieces_of(exact: Run, kept: Sequence[Run]) -> list[int]:
    """Lengths of the kept runs inside an exact one."""
    return [b - a for values, a, b in kept if values == exact[0] and exact[1] <= a < exact[2]]


def accuracy(
    window: Sequence[Tuple],
    memory: Sequence[Tuple],
    metric: str = "R1",
    condition: Condition = lambda length: True,
) -> Fraction:
    """R1, R2 or R3 of card B2."""
    exact = runs(window)
    kept = [run for run in runs(memory) if condition(run[2] - run[1])]
    answer = [run for run in exact if condition(run[2] - run[1])]
    stray = sum(len(pieces_of(run, kept)) for run in exact if run not in answer)
    if not answer:
        return Fraction(not stray)
    inside = [pieces_of(run, kept) for run in answer]
    similarities = [
        Fraction(sum(own), run[2] - run[1]) for run, own in zip(answer, inside, strict=True)
    ]
    below = sum(max(1, len(own)) for own in inside) + stray
    if metric == "R1":
        return sum(similarities, Fraction()) / below
    if metric == "R2":
        alike = Fraction(sum(min(1, len(own)) for own in inside), below)
        return alike * sum(similarities, Fraction()) / len(answer)
    ratios = [s / max(1, len(own)) for s, own in zip(similarities, inside, strict=True)]
    return sum(ratios, Fraction()) / len(answer)


def objectives(
    one: Tuple, memory: Sequence[Tuple], window: Sequence[Tuple], basis: str
) -> tuple[int, Fraction]:
    """δ⁺ and ρ⁻ of a tuple in memory."""
    run = run_with(one, memory)
    left = runs(other for other in members(run, memory) if other[0] != one[0])
    base = run if basis == "memory" else run_with(one, window)
    lost = (run[2] - run[1]) - sum(b - a for _, a, b in left)
    return max(0, len(left) - 1), Fraction(lost, base[2] - base[1])


class SlowShedding:
    """On every arrival: expire, insert, and while there are too many tuples drop the one whose
    score is least, the oldest of several."""

    def __init__(self, algorithm: str, limit: int, **options: Any) -> None:
        self.algorithm, self.limit = algorithm, limit
        self.basis: str = options.get("basis", "exact")
        self.weight = Fraction(options.get("weight", 1))
        self.metric: str = options.get("metric", "R1")
        self.low_water = Fraction(str(options.get("low_water", 1)))
        self.protects: bool = options.get("protects", True)
        self.least: int = options.get("least", 0)
        self.hash: Callable[[int], int] = options.get("hash", lambda number: number)
        self.window: list[Tuple] = []
        self.memory: list[Tuple] = []
        self.open: set[int] = set()
        self.newest = 0
        self.latest = -(10**9)

    def arrive(
        self, one: Tuple, leaves: Callable[[Tuple], bool], is_open: bool = False
    ) -> list[int]:
        """The numbers that are dropped, in order."""
        self.leave(leaves)
        self.newest, self.latest = one[0], max(self.latest, one[2])
        self.window.append(one)
        self.memory.append(one)
        if is_open:
            self.open.add(one[0])
        return self.shed()

    def leave(self, leaves: Callable[[Tuple], bool]) -> None:
        """What the window needs no more."""
        self.window = [one for one in self.window if not leaves(one)]
        self.memory = [one for one in self.memory if not leaves(one)]
        self.open &= {one[0] for one in self.memory}

    def shed(self) -> list[int]:
        """Down to the low-water mark, if there are more than the limit."""
        dropped: list[int] = []
        if not self.limit or len(self.memory) <= self.limit:
            return dropped
        while len(self.memory) > max(1, int(self.low_water * self.limit)):
            candidates = [one for one in self.memory if self.is_candidate(one[0])]
            if not candidates:
                break
            gone = min(candidates, key=lambda one: (self.score(one), one[0]))
            self.memory.remove(gone)
            dropped.append(gone[0])
        return dropped

    def is_candidate(self, number: int) -> bool:
        """Neither open nor, but for rand, the newest."""
        is_newest = number == self.newest and self.protects and self.algorithm != "rand"
        return not is_newest and number not in self.open

    def score(self, one: Tuple) -> Any:
        """The lowest is dropped."""
        if self.algorithm == "oldest":
            return one[0]
        if self.algorithm == "rand":
            return -self.hash(one[0])
        if self.algorithm == "cals-m":
            left = [other for other in self.memory if other is not one]
            return -accuracy(self.window, left, self.metric)  # of all lengths: B3, ADR 33
        if self.algorithm == "reach":
            return self.reach(one)
        delta, rho = objectives(one, self.memory, self.window, self.basis)
        if self.algorithm == "cals-v":
            return delta
        return rho if self.algorithm == "cals-i" else self.weight * delta + rho

    def reach(self, one: Tuple) -> Any:
        """What the answer loses for each tuple that goes; only one tuple of a run is a candidate,
        the one whose loss splits least, then is shortest."""
        run = run_with(one, self.memory)
        own = members(run, self.memory)

        def loss(of: Tuple) -> tuple[int, Fraction, int]:
            return (*objectives(of, self.memory, self.window, "memory"), of[0])

        first = min((other for other in own if self.is_candidate(other[0])), key=loss)
        if first is not one:
            return 10**9
        exact = run if self.basis == "memory" else run_with(one, self.window)
        length, base = run[2] - run[1], exact[2] - exact[1]
        can_grow = run[2] >= self.latest or any(not self.is_candidate(other[0]) for other in own)
        if length < self.least and not can_grow:
            return -1
        missing = max(0, self.least - length)
        whole = Fraction(length, (base + missing) * len(own))
        delta, rho, _ = loss(one)
        lost = rho * length
        if delta or length - lost < self.least:
            return whole
        return min(Fraction(lost, base), whole)
