"""A small loop for hosts: fixed operators, everything told is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from backend.engine.listening import RunsListening
from backend.model.knobs import KnobValue
from backend.operators.contract import BatchPlan, BatchResult, Operator
from backend.operators.network.core.job import NetworkJob
from storage.vocabulary.kinds import Phase
from storage.vocabulary.records import Event

Operators = Mapping[str, Mapping[str, Operator]]


class FixedLoop:
    """Runs the same operators in every batch, or what ``choose`` says. knobs: (input, knob).
    networks: those of a batch, by unit."""

    def __init__(
        self,
        operators: Operators,
        knobs: Mapping[tuple[str, str], KnobValue] | None = None,
        choose: Callable[[int], Operators] | None = None,
        networks: Callable[[int], Mapping[str, NetworkJob]] = lambda batch_id: {},
    ) -> None:
        self.stop_requested = threading.Event()
        self.results: list[BatchResult] = []
        self.begun: list[int] = []
        self.events: list[Event] = []
        self.n_abandoned = self.n_idle = self.n_between = self.n_decided = 0
        self.phases: list[tuple[Phase, float]] = []
        self.last_words = ""
        self.is_changed = False
        self._choose = choose or (lambda batch_id: operators)
        self._networks = networks
        self._knobs = dict(knobs or {})
        self._in_batch = False

    @property
    def in_batch(self) -> bool:
        return self._in_batch

    def listens(self, listener: RunsListening) -> None:
        self.listener = listener

    def may_begin(self) -> bool:
        return True

    def decided(self, unit: str, operator: str, waiting: Mapping[str, int]) -> None:
        self.n_decided += 1

    def may_decide(self) -> bool:
        return True

    def begins(self, phase: Phase) -> None:
        self.phases.append((phase, time.monotonic()))

    def begin_batch(self, batch_id: int) -> BatchPlan:
        self._in_batch, self.is_changed = True, False
        self.begun.append(batch_id)
        return BatchPlan(batch_id, self._choose(batch_id), self._networks(batch_id))

    def end_batch(self, result: BatchResult) -> None:
        self.results.append(result)
        self._in_batch = False

    def abandon_batch(self) -> None:
        self.n_abandoned += 1
        self._in_batch = False

    def tell(self, event: Event) -> None:
        self.events.append(event)

    def idle(self) -> None:
        self.n_idle += 1

    def between_batches(self) -> None:
        self.n_between += 1

    def ending(self, why: str) -> None:
        self.last_words = why

    def input_knob(self, input: str, name: str) -> KnobValue:
        defaults: dict[str, KnobValue] = {
            "rate": 0.0,
            "at_end": "stop",
            "max_batch_tuples": 0,
            "intake": "on",
        }
        return self._knobs.get((input, name), defaults[name])

    def turn(self, name: str, value: KnobValue) -> None:
        """Turn a knob of all inputs that have it turned already."""
        self._knobs |= {key: value for key in self._knobs if key[1] == name}

    def total(self, input: str, count: str) -> int:
        """A count of InputResult, summed over batches."""
        return sum(getattr(result.inputs[input], count) for result in self.results)

    def matched_by_query(self, unit: str) -> dict[str, int]:
        """Summed over batches."""
        found: dict[str, int] = {}
        for result in self.results:
            for name, n in result.units[unit].matched_by_query.items():
                found[name] = found.get(name, 0) + n
        return found

    def reports(self, unit: str) -> list[Any]:
        """What the unit's operator reported, batch by batch."""
        return [result.units[unit].report for result in self.results]
