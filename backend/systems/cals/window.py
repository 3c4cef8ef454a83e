"""What is decided on one window that may shed, and what it came to. [AL11]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backend.adaptive.core import Evaluations
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.temporal import EVERY_LENGTH, ValidCondition
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning
from storage.vocabulary.records import Decision


@dataclass
class AdaptedWindow:
    """name: of its operator; lengths: the condition on valid times of its answer. n_shed: tuples
    shed since the run began; n_begun, n_ended: how often shedding has begun, and ended. time_unit:
    of valid times, '' = whole numbers."""

    name: str
    time_unit: str = ""
    lengths: ValidCondition = EVERY_LENGTH
    options: ShedOptions = field(default_factory=ShedOptions)
    n_shed: int = 0
    n_begun: int = 0
    n_ended: int = 0
    profile: ShedProfile = field(default_factory=ShedProfile)

    @property
    def tuning(self) -> ShedTuning:
        """How it is executed."""
        return ShedTuning(self.options, self.lengths)

    @property
    def is_shedding(self) -> bool:
        """Whether it shed in the last batch, or an answer lacks what was shed."""
        return self.n_begun > self.n_ended

    @property
    def inexact(self) -> str:
        """Why its answers are not exact; '' where they are."""
        if not self.is_shedding:
            return ""
        limit = self.options.memory_tuples
        if not limit:
            return f"{self.name} lacks tuples that were shed before it had no limit"
        return f"{self.name} keeps {limit} tuples and sheds the others"

    def observe(
        self, batch_id: int, profile: ShedProfile, evaluations: Evaluations, version: int
    ) -> list[Decision]:
        """A batch is over. Shedding begins with the first drop, and ends when the window holds all
        that it would without a limit."""
        self.profile = profile
        self.n_shed += profile.n_dropped
        is_shedding = bool(profile.n_dropped) or not profile.is_whole
        if is_shedding == self.is_shedding:
            return []
        self.n_begun += is_shedding
        self.n_ended += not is_shedding
        wanted = profile.n_resident + profile.n_dropped
        begins = f"sheds {self.options.shed_algorithm}: {wanted} tuples wanted"
        return [
            Decision(
                seq=evaluations.count(),
                batch=batch_id,
                algorithm=self.options.shed_algorithm,
                kind="shedding",
                verdict="acted",
                metric="resident_tuples",
                lhs=wanted,
                relation=">" if self.is_shedding else "<=",
                rhs=self.options.memory_tuples,
                n=profile.n_arrived,
                n_sample=profile.n_arrived,
                knob_version=version,
                explanation=begins if self.is_shedding else "answers are exact again",
            )
        ]

    def restore(self, totals: Mapping[str, float]) -> None:
        """Go on with what was published last; totals: by property."""
        names = ("shed_total", "sheddings_total", "shed_ends_total")
        self.n_shed, self.n_begun, self.n_ended = (int(totals.get(name, 0)) for name in names)
