"""What happens between two batches: what is to be recorded with the next, and what is refused."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from backend.engine.units import BrokeOff
from backend.systems.contract import Recorded, Refused
from storage.texts import storable
from storage.vocabulary.records import Command, CommandAnswer, Event

log = logging.getLogger(__name__)

#: Answers to commands are cut to so many characters.
LONGEST_ANSWER: Final = 1000


@dataclass
class Boundary:
    """What a batch boundary brought, to be recorded with the batch that follows it. turned: knobs,
    by scope and name."""

    recorded: Recorded = field(default_factory=Recorded)
    answers: list[CommandAnswer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    turned: list[tuple[str, str]] = field(default_factory=list)


def refusal(command: Command, error: Exception) -> str:
    """Why a command is not carried out, in words the store can keep."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, BrokeOff) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    log.error("command %d (%s) broke off", command.id, command.kind, exc_info=error)
    reason = f"the engine could not carry it out: {type(error).__name__}: {error}"
    return storable(reason)[:LONGEST_ANSWER]
