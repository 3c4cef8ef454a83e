"""Every knob, environment variable and workload key is documented as it is."""

from __future__ import annotations

import re

import pytest

from backend.engine.knobs import KNOBS
from backend.model.knobs import KnobSpec
from tests.docs.tree import ROOT, texts

SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def row(knob: KnobSpec) -> str:
    """The knob's row in the table of docs/settings.md."""
    default = str(knob.default).lower() if isinstance(knob.default, bool) else f"{knob.default}"
    allowed = knob.allowed().removesuffix(knob.unit).strip()
    return f"| `{knob.name}` | {default} | {knob.unit or '—'} | {allowed} | {knob.help} |"


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_is_documented_as_it_is(knob: KnobSpec) -> None:
    assert row(knob) in SETTINGS, f"docs/settings.md should have the row:\n{row(knob)}"


def test_no_knob_is_documented_that_is_gone() -> None:
    table = SETTINGS.partition("## Knobs")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert documented == [knob.name for knob in KNOBS]


def test_every_environment_variable_is_documented() -> None:
    used = {
        name
        for text in texts(".py", ".js").values()
        for name in re.findall(r"\bPLANWATCH_[A-Z_]+\b", text)
    }
    inner = {"PLANWATCH_ENTERING", "PLANWATCH_LIFELINE"}  # set by run.py for its own children
    table = SETTINGS.partition("## Environment variables")[2]
    documented = set(re.findall(r"^\| `(PLANWATCH_\w+)` \|", table, re.MULTILINE))
    assert documented == used - inner
