"""Pipelined filters: one conjunction of commutative filters over a stream, and its plans.

A filter *drops* the tuples it is not true for; a tuple is emitted when none drops it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import Condition, Expensive
from storage.vocabulary.records import Decision, DecisionOutcome, Event

FilterKind: TypeAlias = Literal["native", "function", "window"]
ProbeRule: TypeAlias = Literal["all", "one", "next", "none"]
#: int8[k, n]: one row a profile tuple, one column a filter.
Outcomes: TypeAlias = NDArray[np.int8]

#: What an outcome says: the filter dropped the tuple, let it pass, or was not asked.
DROPPED, PASSED, UNKNOWN = 1, 0, -1
#: One in so many profile tuples is whole: no filter is spared, so that a sleeper is noticed.
WHOLE_EVERY: Final = 8


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter of a query.

    name: unique in the query. text: its CQL. kind: 'native' filters compare
    attributes with constants, the others call functions or look into windows.
    """

    name: str
    text: str
    kind: FilterKind
    condition: Condition | Expensive


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """The order of the filters, by name; the first ``n_native`` are the native ones.

    Natives are cheap and come before the rest: the split.
    """

    version: int
    order: tuple[str, ...]
    n_native: int

    @property
    def native(self) -> tuple[str, ...]:
        return self.order[: self.n_native]

    @property
    def arrow(self) -> tuple[str, ...]:
        return self.order[self.n_native :]


@dataclass(frozen=True, slots=True)
class Probing:
    """Which filters a profiled tuple is shown to after the one that dropped it.

    rule: 'all' that follow (A-Greedy), only ``filter`` (Sweep), the 'next' one (LocalSwaps), none.
    spared: (filter, the one that dropped), of 'all': filters that only whole profile tuples are
    shown to once that one dropped them.
    """

    rule: ProbeRule
    filter: str | None = None
    spared: frozenset[tuple[str, str]] = frozenset()

    def spared_places(self, order: Sequence[str]) -> NDArray[np.bool_]:
        """bool[n, n] by place in an order: of what the row dropped the column is spared."""
        pairs = [[(asked, by) in self.spared for asked in order] for by in order]
        return np.array(pairs, dtype=np.bool_).reshape(len(order), len(order))


class WholeTuples(NamedTuple):
    """The profile tuples that no filter is spared. rows: bool[k], of the outcomes; n_passed: of the
    passes."""

    rows: NDArray[np.bool_]
    n_passed: int


def shown_to(
    rule: ProbeRule,
    first: NDArray[np.intp],
    place: NDArray[np.intp] | int,
    chosen: int | None = None,
) -> NDArray[np.bool_]:
    """Which profiled tuples are shown to which filters behind those that dropped them; first,
    place: places in the order of the dropping filters and of those asked, that go together; chosen:
    the place of the filter of rule 'one'."""
    after: NDArray[np.bool_] = first < place
    if rule == "all":
        return after
    if rule == "next":
        after &= first + 1 == place
    else:
        after &= np.equal(place, -1 if chosen is None or rule != "one" else chosen)
    return after


def known_outcomes(
    drops: NDArray[np.bool_],
    rule: ProbeRule,
    chosen: int | None = None,
    spared: NDArray[np.bool_] | None = None,
) -> Outcomes:
    """int8[k, n]: what is known of profiled tuples, each of which some filter drops. drops: bool[k,
    n] by place in the order; rule, chosen: as of ``shown_to``; spared: bool[k, n], who is not
    asked."""
    if not drops.size:
        return np.zeros(drops.shape, np.int8)
    first, places = np.argmax(drops, axis=1)[:, None], np.arange(drops.shape[1])[None, :]
    is_asked = shown_to(rule, first, places, chosen)
    is_known = (places <= first) | (is_asked if spared is None else is_asked & ~spared)
    outcomes: Outcomes = np.where(is_known, np.where(drops, DROPPED, PASSED), UNKNOWN).astype(
        np.int8
    )
    return outcomes


@dataclass(frozen=True, slots=True)
class CostSample:
    """One timing: ``n_tuples`` tuples took ``us`` microseconds of a filter, together."""

    n_tuples: int
    us: float


class Shares(NamedTuple):
    """Microseconds spent on the five parts of Table 4.2."""

    tuples_us: float = 0.0
    profile_us: float = 0.0
    window_us: float = 0.0
    view_us: float = 0.0
    violations_us: float = 0.0

    @property
    def adapting_us(self) -> float:
        """Everything but processing tuples."""
        return sum(self[1:])


@dataclass(frozen=True, slots=True)
class BatchFiltered:
    """A batch was run under plan ``plan_version``: exact counts, the profile, and times as data.

    evaluated / dropped: filter -> tuples it was asked about, and dropped, in regular execution.
    filters: the columns of ``outcomes``, which has one row a profiled tuple that was dropped;
    n_passed: profiled tuples no filter dropped. profile_prob, probing: what they were drawn with,
    and asked; whole: None where no filter was spared.
    costs: filter -> timings. time_s: when the batch ended, on the clock of time-based windows.
    spent: what the parts took: of this batch for tuples and profile, of the one before for the
    others.
    """

    batch_id: int
    plan_version: int
    n_tuples: int
    n_matched: int
    evaluated: Mapping[str, int]
    dropped: Mapping[str, int]
    filters: tuple[str, ...]
    outcomes: Outcomes
    n_passed: int
    profile_prob: float
    probing: Probing
    costs: Mapping[str, Sequence[CostSample]]
    time_s: float
    spent: Shares = field(default_factory=Shares)
    whole: WholeTuples | None = None


@dataclass(frozen=True, slots=True)
class AdoptFilters:
    """Run ``plan`` from ``batch_id`` on. predicted: microseconds per tuple, None if unknown."""

    plan: FilterPlan
    batch_id: int
    reason: str
    decision: int | None = None
    predicted: float | None = None


FilterInstruction: TypeAlias = AdoptFilters | Decision | DecisionOutcome | Event
