"""What can be chosen about shedding, under the names of the knobs, and what is refused. Card B3"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from backend.operators.network.shedding.accuracy import AccuracyMetric
from backend.operators.network.shedding.temporal import Values

ShedAlgorithm: TypeAlias = Literal["cals", "cals-v", "cals-i", "rand", "oldest", "cals-m", "reach"]
RhoBasis: TypeAlias = Literal["exact", "memory"]
StateForm: TypeAlias = Literal["runs", "tuples"]
Audit: TypeAlias = Literal["exact", "sampled", "off"]
_MOST_WEIGHT: Final = 100.0
_LEAST_LOW_WATER: Final = 0.1
_LEAST_GROUPS, _MOST_GROUPS = 2, 1_000_000


class ShedOptionRefused(ValueError):
    """An option has a value that is not allowed; the message says which are."""


class ShedOptions(NamedTuple):
    """memory_tuples: M, 0: no limit. rho_basis: ρ⁻ is a share of the exact coalesced tuple, or of
    the run in memory. delta_weight: of δ⁺ in the score of cals. low_water: of M, down to which
    tuples are dropped once there are more than M. newest_protected: the newest arrival is no
    candidate (of rand it is one, else the sample was not uniform). audit_groups: one of so many
    value groups is kept whole beside. seed: of the order in which rand drops, and of what is kept
    of a window that is aggregated: each tuple with sample_prob at the most, 0 = all that fit.
    state_form: what M is of: tuples, or the bytes that so many take, which the tuples as runs
    must not exceed."""

    shed_algorithm: ShedAlgorithm = "cals"
    memory_tuples: int = 0
    rho_basis: RhoBasis = "exact"
    delta_weight: float = 1.0
    low_water: float = 1.0
    accuracy_metric: AccuracyMetric = "R1"
    audit: Audit = "sampled"
    audit_groups: int = 64
    newest_protected: bool = True
    seed: int = 0
    sample_prob: float = 0.0
    state_form: StateForm = "tuples"

    @property
    def target_tuples(self) -> int:
        """Tuples that are left after shedding."""
        return max(1, math.floor(self.low_water * self.memory_tuples + 1e-9))

    @property
    def as_runs(self) -> bool:
        """Whether the state is kept as runs: where there is a limit, which is of their bytes."""
        return self.state_form == "runs" and self.memory_tuples > 0

    def limits(self, row_bytes: int) -> tuple[int, int]:
        """How much there may be, 0: all, and is left after shedding: tuples, or bytes as runs."""
        if not self.as_runs:
            return self.memory_tuples, self.target_tuples
        limit = self.memory_tuples * row_bytes
        return limit, math.floor(self.low_water * limit + 1e-9)

    @property
    def needs_exact(self) -> bool:
        """Whether the extents of all exact runs have to be known, so that the starts of dropped
        tuples are kept (and count as memory)."""
        return (
            self.audit == "exact"
            or self.shed_algorithm == "cals-m"
            or (self.rho_basis == "exact" and self.shed_algorithm in ("cals", "cals-i", "reach"))
        )

    def check(self) -> None:
        """Raises ShedOptionRefused."""
        _among("shed_algorithm", self.shed_algorithm, get_args(ShedAlgorithm))
        _among("rho_basis", self.rho_basis, get_args(RhoBasis))
        _among("accuracy_metric", self.accuracy_metric, get_args(AccuracyMetric))
        _among("audit", self.audit, get_args(Audit))
        _among("state_form", self.state_form, get_args(StateForm))
        _between("memory_tuples", self.memory_tuples, 0, math.inf)
        _between("delta_weight", self.delta_weight, 0, _MOST_WEIGHT)
        _between("low_water", self.low_water, _LEAST_LOW_WATER, 1)
        _between("sample_prob", self.sample_prob, 0, 1)
        _between("audit_groups", self.audit_groups, _LEAST_GROUPS, _MOST_GROUPS)


def _among(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ShedOptionRefused(f"{name} = {value!r} refused; allowed: {', '.join(allowed)}")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        upper = "or more" if high == math.inf else f"to {high:g}"
        raise ShedOptionRefused(f"{name} = {value:g} refused; allowed: {low:g} {upper}")


def in_sample(values: Values, audit_groups: int) -> bool:
    """Whether a value group is one of the n that are audited."""
    digest = blake2b(repr(values).encode(), digest_size=8).digest()
    return int.from_bytes(digest) % audit_groups == 0
