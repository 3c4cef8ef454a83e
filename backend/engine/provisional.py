"""Turns of knobs that hold for a while unless somebody says that they are to be kept.

The engine takes them back by itself, so that a closed browser leaves nothing turned by accident.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from backend.engine.settings import ScopedSettings
from backend.systems.contract import Refused
from storage.vocabulary.records import Command

#: In the payload of a turn: after so many seconds it is taken back unless it is kept.
UNLESS_KEPT = "unless_kept_s"
#: Who takes it back.
ENGINE = "engine"


class ProvisionalTurns:
    """The turns that wait for a keep, each with the value before it; one a knob. How long they wait
    goes by a clock that nobody sets, but for what a killed run left."""

    def __init__(self, left: Iterable[Command] = ()) -> None:
        """left: applied turns with UNLESS_KEPT that a killed run left, oldest first."""
        self._waiting: dict[tuple[str, str], Command] = {}
        self._until: dict[tuple[str, str], float] = {}
        for command in left:
            key = (str(command.payload.get("scope")), str(command.payload.get("knob")))
            self._wait(key, command, time.time() - (command.answered_at or 0.0))

    def _wait(self, key: tuple[str, str], command: Command, waited_s: float) -> None:
        seconds = float(command.payload[UNLESS_KEPT])
        self._waiting[key] = command
        self._until[key] = time.monotonic() + seconds - max(0.0, waited_s)

    def turned(
        self,
        command: Command,
        key: tuple[str, str],
        old: object,
        also: tuple[tuple[str, str], object] | None = None,
    ) -> None:
        """A knob (scope, name) was turned, and perhaps another one with it: turns of them before
        stand from now on."""
        for each, value in ((key, old), *([also] if also else [])):
            self._waiting.pop(each, None)
            if command.payload.get(UNLESS_KEPT) is not None:
                self._wait(each, replace(command, old_value=value), 0.0)

    def keep(self, number: int) -> None:
        """Let the turn of this command stand. Raises Refused."""
        turned = [key for key, command in self._waiting.items() if command.id == number]
        if not turned:
            raise Refused(f"turn #{number} is not provisional: it was kept or reverted")
        for key in turned:
            del self._waiting[key]

    def due(self, settings: ScopedSettings) -> list[Command]:
        """What takes back the turns whose time is over; a knob that is gone has nothing to."""
        commands = []
        for key, command in list(self._waiting.items()):
            seconds = float(command.payload[UNLESS_KEPT])
            if time.monotonic() < self._until[key]:
                continue
            del self._waiting[key]
            scope, name = key
            if scope in settings.scopes and name in settings.scopes[scope].specs:
                payload = {"knob": name, "scope": scope, "value": command.old_value}
                why = f"not kept within {seconds:g} s"
                commands.append(
                    replace(
                        command, payload=payload, actor=ENGINE, reason=why, expected_version=None
                    )
                )
        return commands
