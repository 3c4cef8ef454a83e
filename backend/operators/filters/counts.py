"""What a pipeline of filters reports of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from backend.model.filters import CostSample, Outcomes, WholeTuples


@dataclass(frozen=True, slots=True)
class FilterCounts:
    """Exact counts of a batch, its profile, and what things took; by filter.

    n_evaluated: tuples the first filter was asked about. evaluated, dropped, raised: tuples the
    filter was asked about, dropped, and raised an exception for. outcomes: int8[k, n], the profile
    tuples some filter dropped, columns in plan order; n_passed: those none dropped; whole: None
    where no filter was spared. costs: timings.
    tuples_us, profile_us: time spent on filters in regular execution, and on profile tuples.
    """

    n_evaluated: int = 0
    evaluated: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    raised: Mapping[str, int] = field(default_factory=dict)
    outcomes: Outcomes = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int8))
    n_passed: int = 0
    costs: Mapping[str, Sequence[CostSample]] = field(default_factory=dict)
    tuples_us: float = 0.0
    profile_us: float = 0.0
    whole: WholeTuples | None = None

    @property
    def n_profiled(self) -> int:
        """Profile tuples, dropped and passed."""
        return len(self.outcomes) + self.n_passed
