"""Looks are on record for good: a run that goes on takes them again, and a page is made of them."""

from __future__ import annotations

from dataclasses import replace

from storage.store import EngineWriter, Reader
from storage.vocabulary.planlog import SURE_SAVING
from storage.writing.thinning import SHORT, rolled_up
from tests.contract.store_builders import begin, decision, record


def test_looks_stay_whole_and_those_that_are_not_are_left_out(
    writer: EngineWriter, reader: Reader
) -> None:
    begin(writer, "r1")
    look = {"plan_log": {"t": 7, "plans": {"p": ["x" * SHORT]}}, "long": "y" * SHORT}
    assert rolled_up(look) == {"plan_log": look["plan_log"], "rolled_up": ["long"]}
    details = (look, {"rolled_up": ["plan_log"]})
    decisions = tuple(
        replace(decision(seq, 0), metric=SURE_SAVING, detail=detail)
        for seq, detail in enumerate(details, start=1)
    )
    writer.write_batch(replace(record(0, run_id="r1"), decisions=decisions))
    (stored_look,) = reader.looks("r1")
    assert (stored_look.seq, stored_look.record) == (1, look["plan_log"])


def test_looks_are_read_with_the_schema_that_the_first_of_their_log_spells_out(
    writer: EngineWriter, reader: Reader
) -> None:
    begin(writer, "r2")
    forms = [{"statistics": [[name, "prob"]], "cost_unit": "visits/tuple"} for name in "ab"]
    records = [
        {"began": 9, "schema": "of a log whose first look is gone"},
        {"began": 0, "schema": forms[0]},
        {"began": 0, "schema": "a"},
        {"began": 7, "schema": forms[1]},
        {"began": 7, "schema": "b"},
        {"began": 0, "schema": "a"},
    ]
    decisions = tuple(
        replace(decision(seq, 0), metric=SURE_SAVING, detail={"plan_log": each})
        for seq, each in enumerate(records, start=1)
    )
    writer.write_batch(replace(record(0, run_id="r2"), decisions=decisions))
    read = [(each.seq, each.record["schema"]) for each in reader.looks("r2")]
    a, b = forms
    assert read == [(2, a), (3, a), (4, b), (5, b), (6, a)]
    for limit in (1, 2):
        newest = reader.looks("r2", limit=limit)
        assert [(each.seq, each.record["schema"]) for each in newest] == read[-limit:]
