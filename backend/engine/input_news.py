"""When the state of an input is an event: once, when it fails."""

from __future__ import annotations

from collections.abc import Mapping

from backend.operators.contract import InputResult
from storage.vocabulary.records import Event


class InputNews:
    """Remembers which inputs have failed, and why."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def events(self, inputs: Mapping[str, InputResult]) -> list[Event]:
        """Of inputs that failed at a batch."""
        failures = {name: one.failure for name, one in inputs.items() if one.failure}
        new = {name: why for name, why in failures.items() if name not in self.failed}
        self.failed |= new
        return [Event("input", f"stream {name} failed", why, "error") for name, why in new.items()]
