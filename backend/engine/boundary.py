"""What happens between two batches, to be recorded with the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from backend.systems.contract import Recorded
from storage.vocabulary.records import CommandAnswer, Event


@dataclass
class Boundary:
    """What a batch boundary brought, to be recorded with the batch that follows it. turned: knobs,
    by scope and name."""

    recorded: Recorded = field(default_factory=Recorded)
    answers: list[CommandAnswer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    turned: list[tuple[str, str]] = field(default_factory=list)

    @property
    def has_news(self) -> bool:
        """There is something to tell though no batch follows."""
        return bool(self.answers or self.turned or self.events)
