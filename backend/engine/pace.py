"""Whether a run goes on by itself, or is held and stepped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from backend.systems.contract import Refused

#: What one step is: a batch, or a scheduling decision of a network.
StepOf: TypeAlias = Literal["batch", "decision"]
#: Kinds of commands about it, which are carried out between scheduling decisions, too.
PACING: Final = ("hold", "go_on", "step", "stop")


@dataclass(frozen=True, slots=True)
class Pace:
    """held: why no batch begins, '' while they do. n_batches: that may begin all the same.

    in_decisions: in the batch that runs, or the next one, every scheduling decision waits;
    n_decisions: that may be made all the same. waits: held by the engine, until what it waits for
    has changed.
    """

    held: str = ""
    n_batches: int = 0
    in_decisions: bool = False
    n_decisions: int = 0
    waits: bool = False

    @property
    def may_begin(self) -> bool:
        """A batch may begin."""
        return not self.held or self.n_batches > 0

    @property
    def may_decide(self) -> bool:
        """The next scheduling decision may be made."""
        return not self.in_decisions or self.n_decisions > 0

    def hold(self, why: str) -> Pace:
        """No further batch. Raises Refused when the run is held."""
        if self.held:
            raise Refused(f"the run is already paused: {self.held}")
        return Pace(why)

    def awaiting(self, why: str) -> Pace:
        """Held by the engine where ``why`` says why, and it is not held by people; no more where it
        says ''."""
        if self.waits and not why:
            return Pace()
        return Pace(why, waits=True) if why and (self.waits or not self.held) else self

    def go_on(self) -> Pace:
        """As if it had never been held. Raises Refused when it is not."""
        if not self.held:
            raise Refused("the run is not paused; there is nothing to resume")
        return Pace()

    def step(self, of: str, is_in_batch: bool) -> Pace:
        """One batch more, or the rest of the one that waits in its decisions; or one decision more.
        Raises Refused unless the run is held."""
        if not self.held:
            raise Refused("the run is not paused: pause it first, then step")
        inside = is_in_batch and self.in_decisions
        if of == "batch":
            n_more = 0 if inside else 1
            return replace(self, n_batches=self.n_batches + n_more, in_decisions=False)
        if inside:
            return replace(self, n_decisions=self.n_decisions + 1)
        return replace(self, n_batches=1, in_decisions=True, n_decisions=1)

    def begun(self) -> Pace:
        """A batch has begun."""
        return replace(self, n_batches=max(0, self.n_batches - 1))

    def decided(self) -> Pace:
        """A scheduling decision was made."""
        return replace(self, n_decisions=max(0, self.n_decisions - 1))

    def ended(self) -> Pace:
        """The batch is over."""
        return replace(self, in_decisions=False, n_decisions=0) if not self.n_batches else self
