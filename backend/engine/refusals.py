"""Why a command was not carried out, in words the store can keep."""

from __future__ import annotations

import logging
from typing import Final

from backend.engine.running import BrokeOff
from backend.systems.contract import Refused
from storage.tables.texts import storable
from storage.vocabulary.records import Command

log = logging.getLogger(__name__)

#: Answers to commands are cut to so many characters.
LONGEST_ANSWER: Final = 1000


def refusal_of(command: Command, error: Exception) -> str:
    """Of an error that ended it; what is no refusal is logged, too."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, BrokeOff) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    log.error("command %d (%s) broke off", command.id, command.kind, exc_info=error)
    reason = f"the engine could not carry it out: {type(error).__name__}: {error}"
    return storable(reason)[:LONGEST_ANSWER]
