"""What every way of running a plan takes and gives back, so that the executor need not know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame

from backend.hosts.spark.literals import quote, text
from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT


@dataclass(frozen=True, slots=True)
class Stream:
    """The stream a plan runs over. timestamp: the event-time attribute, or None."""

    schema: Schema
    timestamp: str | None

    @property
    def misfit(self) -> str:
        """Condition: the tuple does not fit the schema, or has no event time."""
        if self.timestamp is None:
            return f"{CORRUPT} IS NOT NULL"
        return f"({CORRUPT} IS NOT NULL OR {quote(self.timestamp)} IS NULL)"

    @property
    def columns(self) -> list[str]:
        """The attributes, quoted."""
        return [quote(name) for name in self.schema.names]

    @property
    def raw(self) -> str:
        """Expression: a misfit as it came, or as JSON."""
        return f"coalesce({CORRUPT}, to_json(struct({', '.join(self.columns)})))"

    @property
    def flaw(self) -> str:
        """Expression: what is wrong with a misfit."""
        fits_not = "'does not fit the schema'"
        if self.timestamp is None:
            return fits_not
        absent = text(f"{self.timestamp} is NULL, and it is the timestamp")
        return f"if({CORRUPT} IS NULL, {absent}, {fits_not})"


@dataclass(frozen=True, slots=True)
class Observed:
    """What the job of a batch counted. counts: n_rows, n_misfits and stream_time; n_matched, recent
    (rows of attributes and query_ids). sample, reached, dropped, matched: as in BatchResult.
    """

    counts: Mapping[str, Any]
    sample: Mapping[str, Sequence[Any]]
    reached: Mapping[str, int]
    dropped: Mapping[str, int]
    matched: Mapping[str, int]


class PlanRun(Protocol):
    """One version of a plan, prepared once and run batch after batch."""

    def plan_batch(
        self, batch: DataFrame, batch_id: int, sampling: Column
    ) -> tuple[DataFrame, Callable[[], Observed]]:
        """The matched tuples as the sink wants them, and what was observed, to be called when the
        one job that writes them is done.

        sampling: ARRAY<BIGINT> of seed, profile threshold and recent threshold.
        """

    def close(self) -> None:
        """The plan is not in force any more."""


def named(order: Sequence[str], numbers: Sequence[int]) -> dict[str, int]:
    """Attribute -> number."""
    return {attribute: int(n) for attribute, n in zip(order, numbers, strict=True)}
