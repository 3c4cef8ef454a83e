"""What selection operators report of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SelectionCounts:
    """Exact counts of a batch, and its profile sample; by attribute.

    reached: tuples that visited the construct. dropped: those it dropped; empty under a plan that
    does not drop early. sample: values of the profiled tuples (None = NULL), equal lengths.
    """

    reached: Mapping[str, int]
    dropped: Mapping[str, int]
    sample: Mapping[str, list[Any]]
