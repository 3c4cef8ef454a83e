"""How much a run has answered, in a sentence at its end."""

from __future__ import annotations

from backend.engine.totals import Totals


def test_what_was_answered_is_said_with_the_place() -> None:
    sink = {"path": "/runs/cars-1/matches", "format": "parquet"}
    said = Totals(tuples=3, answered=2).summary(sink)
    assert said == "2 answers to 3 tuples; they are in /runs/cars-1/matches (parquet)"
    assert Totals(tuples=3).summary(sink) == "no answers to 3 tuples"
