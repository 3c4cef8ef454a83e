"""What an assessor counts of a state's search requests, and what it reports. [WRA13] §5"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from storage.vocabulary.amri_patterns import Pattern


class PatternEntry(NamedTuple):
    """N and δ of a pattern. n: requests counted; delta: requests that may have come before it was
    counted; folded: of n, those of other patterns that were folded into it."""

    n: int
    delta: int
    folded: int = 0


class AssessEvent(NamedTuple):
    """An entry is gone: dropped, or folded into a parent. s_id: of the segment."""

    kind: Literal["drop", "fold"]
    pattern: Pattern
    into: Pattern | None
    entry: PatternEntry
    s_id: int


class Guarantees(NamedTuple):
    """What holds of a report; None: nothing is promised. All are shares of the requests.

    none_missed_from: every pattern at least so frequent is reported; undercount: a frequency is too
    low by at most so much; none_below: nothing rarer is reported.
    """

    none_missed_from: float | None
    undercount: float | None
    none_below: float | None


class AssessmentReport(NamedTuple):
    """The outcome of an assessment.

    frequencies: F of the reported patterns, largest pattern first; the root is none of them. total:
    requests. entries: the table before the final step. dropped, moved: shares of the requests that
    are in no entry any more, and in another pattern's (root: of these, in the root's), after it.
    events: of the final step. folded: what patterns were folded into last; None: dropped.
    """

    frequencies: Mapping[Pattern, float]
    total: int
    entries: Mapping[Pattern, PatternEntry]
    dropped: float
    moved: float
    root: float
    events: tuple[AssessEvent, ...]
    guarantees: Guarantees
    folded: Mapping[Pattern, Pattern | None] = MappingProxyType({})

    @property
    def is_thin(self) -> bool:
        """Nothing reached the threshold: nothing is known, and the configuration stays."""
        return not self.frequencies
