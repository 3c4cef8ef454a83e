"""What happens between two batches, to be recorded with the next."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from backend.engine.control import Carried, answer_applied, answer_refused
from backend.systems.contract import Recorded
from storage.vocabulary.records import Command, CommandAnswer, Event


@dataclass
class Boundary:
    """What a batch boundary brought, to be recorded with the batch that follows it. turned: knobs,
    by scope and name."""

    recorded: Recorded = field(default_factory=Recorded)
    answers: list[CommandAnswer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    turned: list[tuple[str, str]] = field(default_factory=list)

    def unanswered(self, commands: Iterable[Command]) -> list[Command]:
        """Those that have no answer here yet: a store that was away for a while has none either."""
        answered = {answer.command for answer in self.answers}
        return [command for command in commands if command.id not in answered]

    def applied(self, command: Command, carried: Carried, batch: int) -> None:
        """A command is in force from the batch on."""
        self.answers.append(answer_applied(command, carried, batch, time.time()))
        if not carried.is_quiet:
            self.events.append(carried.event)

    def refused(self, command: Command, reason: str) -> None:
        """A command is not carried out."""
        self.answers.append(answer_refused(command, reason, time.time()))

    @property
    def has_news(self) -> bool:
        """There is something to tell though no batch follows."""
        return bool(self.answers or self.turned or self.events)
