"""The inputs of a run as the page lists them."""

from __future__ import annotations

from dashboard.views.inputs import input_rows
from storage.tables.rows import StoredInput
from storage.vocabulary.records import Input, Knob


def test_a_stream_that_is_not_read_says_so() -> None:
    inputs = [StoredInput(Input(name, []), "open", "") for name in "ab"]
    inputs.append(StoredInput(Input("c", []), "ended", ""))
    sources = {name: f"input:{name}" for name in "abc"}
    knobs = [intake("input:b", "paused"), intake("input:c", "removed")]
    rows = input_rows(inputs, {}, sources, knobs)
    assert [(row.state, row.source) for row in rows] == [
        ("open", "input:a"),
        ("paused", "input:b"),
        ("ended", "input:c"),
    ]
    assert [row.intake for row in rows] == ["", "paused", ""]  # an ended one cannot be changed


def intake(scope: str, value: str) -> Knob:
    return Knob("intake", "choice", value, "on", "", "", scope=scope)
