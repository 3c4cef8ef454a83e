"""The tables of the introspection store, every column with its meaning and unit.

Writers: the dashboard writes ``commands`` and answers to those it refuses, the engine everything
else. ``batch_id`` of a row is the batch whose record carried it; a boundary without data counts to
the batch before it, and -1 stands for "before the first batch". Times are Unix seconds, UTC. Keys
make writes idempotent.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import MetaData

from storage.tables.columns import Base
from storage.tables.schema_planlog import LoggedPlanRow, LookRow, PlanLogRow
from storage.tables.schema_plans import (
    AnswerRow,
    CommandRow,
    DecisionRow,
    EventRow,
    KnobRow,
    MatrixRow,
    MisfitRow,
    OutcomeRow,
    PlanRow,
    ResultQueryRow,
    ResultRow,
    TapRow,
)
from storage.tables.schema_runs import (
    BatchRow,
    CommitRow,
    EntityRow,
    InputBatchRow,
    InputRow,
    LogRow,
    MetaRow,
    RunRow,
    UnitRow,
    UnitStateRow,
)
from storage.tables.schema_samples import LatestRow, RollupRow, SampleRow, SeriesRow

#: Version of this layout; a change of a table adds one and a step in storage.tables.migrations.
SCHEMA_VERSION: Final = 4

METADATA: Final[MetaData] = Base.metadata

__all__ = [
    "METADATA",
    "SCHEMA_VERSION",
    "AnswerRow",
    "Base",
    "BatchRow",
    "CommandRow",
    "CommitRow",
    "DecisionRow",
    "EntityRow",
    "EventRow",
    "InputBatchRow",
    "InputRow",
    "KnobRow",
    "LatestRow",
    "LogRow",
    "LoggedPlanRow",
    "LookRow",
    "MatrixRow",
    "MetaRow",
    "MisfitRow",
    "OutcomeRow",
    "PlanLogRow",
    "PlanRow",
    "ResultQueryRow",
    "ResultRow",
    "RollupRow",
    "RunRow",
    "SampleRow",
    "SeriesRow",
    "TapRow",
    "UnitRow",
    "UnitStateRow",
]
