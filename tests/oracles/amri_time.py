"""What happens over time, event by event: slow twins of AMRI's schedule, partitions, migrations
and of selection with a price of switching. Card A3, A7, A8, A14.11."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product


class Scheduler:
    """Request by request (card A7). trace: (kind, slot, state, request)."""

    def __init__(self, method: str, n: int, period: int, trigger: int, least: float = 0.0) -> None:
        self.method, self.n, self.least = method, n, least
        self.period, self.trigger = period, trigger
        self.list = list(range(n))
        self.in_period = self.in_trigger = self.total = 0
        self.now: list[int] = [0] * n
        self.before: list[int] | None = None
        self.slots: dict[str, int | None] = {"periodic": None, "triggered": None}
        self.trace: list[tuple[str, str, int, int]] = []
        if method == "continuous":
            self.trace += [("assess", "continuous", s, 0) for s in range(n)]
        if method in ("periodic", "hybrid"):
            self.next_turn()

    def next_turn(self) -> None:
        for state in self.list:
            if state not in self.slots.values():
                self.slots["periodic"] = state
                self.trace.append(("assess", "periodic", state, self.total))
                return

    def end(self, slot: str) -> None:
        state = self.slots[slot]
        if state is not None:
            self.list.remove(state)
            self.list.append(state)
            self.slots[slot] = None
            self.trace.append(("select", slot, state, self.total))

    def request(self, state: int) -> None:
        self.total += 1
        self.in_period += 1
        self.in_trigger += 1
        self.now[state] += 1
        if self.in_period == self.period:
            self.in_period = 0
            if self.method == "continuous":
                self.trace += [("select", "continuous", s, self.total) for s in range(self.n)]
                self.trace += [("assess", "continuous", s, self.total) for s in range(self.n)]
            if self.method in ("periodic", "hybrid"):
                self.end("periodic")
                self.next_turn()
        if self.in_trigger == self.trigger:
            self.in_trigger = 0
            if self.method in ("triggered", "hybrid"):
                self.end("triggered")
                self.look()
            self.before, self.now = self.now, [0] * self.n

    def look(self) -> None:
        if self.before is None:
            return
        changes = {s: abs(self.now[s] - self.before[s]) / max(1, self.before[s]) for s in self.list}
        largest = max(changes.values())
        state = next(s for s in self.list if changes[s] == largest)
        if largest > self.least and state != self.slots["periodic"]:
            self.slots["triggered"] = state
            self.trace.append(("assess", "triggered", state, self.total))
        else:
            self.trace.append(("pass", "triggered", state, self.total))


def advantage_run(costs: Sequence[Sequence[float]], price: float) -> tuple[float, list[int]]:
    """Selection between configurations by accumulated advantage from the first one: what it spends,
    and where each window ends. One price for all pairs."""
    here, spent, trace = 0, 0.0, []
    c = [0.0] * len(costs[0])
    for window in costs:
        spent += window[here]
        c = [max(0.0, old + window[here] - own) for old, own in zip(c, window, strict=True)]
        reached = [k for k, own in enumerate(c) if k != here and own > 0 and own >= 2 * price]
        if reached:
            here = max(reached, key=lambda k: (c[k], -k))
            spent += price
            c = [0.0] * len(c)
        trace.append(here)
    return spent, trace


def best_sequence(costs: Sequence[Sequence[float]], prices: Sequence[Sequence[float]]) -> float:
    """Every sequence of configurations, tried; the first is free."""
    k = len(prices)
    return min(
        sum(window[one] for window, one in zip(costs, way, strict=True))
        + sum(prices[a][b] for a, b in pairwise(way))
        for way in product(range(k), repeat=len(costs))
    )
