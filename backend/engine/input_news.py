"""When the state of an input is an event: once, when it fails, and each time it begins anew."""

from __future__ import annotations

from collections.abc import Mapping

from backend.operators.contract import InputResult
from storage.vocabulary.records import Event


class InputNews:
    """Remembers which inputs have failed, and why, and how often others began anew."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}
        self._rounds: dict[str, int] = {}

    def events(self, inputs: Mapping[str, InputResult]) -> list[Event]:
        """Of inputs that failed, or went on from their end to their beginning, at a batch."""
        failures = {name: input.failure for name, input in inputs.items() if input.failure}
        new = {name: why for name, why in failures.items() if name not in self.failed}
        self.failed |= new
        again = {
            name: input.rounds
            for name, input in inputs.items()
            if input.rounds > self._rounds.get(name, 0)
        }
        self._rounds |= again
        return [
            *(Event("input", f"stream {name} failed", why, "error") for name, why in new.items()),
            *(Event("loop", f"stream {name} begins anew", _again(n)) for name, n in again.items()),
        ]


def _again(rounds: int) -> str:
    times = "once" if rounds == 1 else f"{rounds} times"
    return f"its first tuple came after its last one, {times} since it was opened"
