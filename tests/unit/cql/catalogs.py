"""What the thesis' queries read, and more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backend.cql.parser import plan_of
from backend.cql.scope import Catalog
from backend.model.schema import Schema

STREAMS = Catalog(
    {
        "S": Schema.parse("A int, B int, C int"),
        "S1": Schema.parse("A int, B int"),
        "S2": Schema.parse("A int, B int"),
        "CarLoc": Schema.parse("car int, seg int, x int"),
    },
    {"Tolls": Schema.parse("seg int, toll double")},
)
THESIS = replace(
    STREAMS,
    queries={
        "Slow": plan_of("Select A From S1 Where B < 5", STREAMS),
        "Last": plan_of("Select A From S1 [Rows 5]", STREAMS),
        "Gone": plan_of("Dstream(Select A From S1 [Rows 5])", STREAMS),
    },
)


def plan(text: str) -> Any:
    """The logical plan of a query over these."""
    return plan_of(text, THESIS)
