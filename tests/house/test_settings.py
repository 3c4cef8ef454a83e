"""Every knob, environment variable and workload key is documented as it is."""

from __future__ import annotations

import argparse
import re

import pytest

import run
from backend.engine.knobs import ENGINE_KNOBS, INPUT_KNOBS
from backend.model.knobs import KnobSpec
from backend.systems.registry import CORES, SYSTEMS
from backend.systems.stream.capacities import CAPACITY
from backend.systems.stream.knobs import StreamKnobs
from backend.systems.stream.system import NetworkSystem
from dashboard.base.face import told
from dashboard.systems.asc.recorded_trials import REPLAYED
from tests.house.tree import ROOT, texts

SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def row(knob: KnobSpec) -> str:
    """The knob's row in the table of docs/settings.md."""
    default = str(knob.default).lower() if isinstance(knob.default, bool) else f"{knob.default}"
    allowed = knob.allowed().removesuffix(knob.unit).strip()
    return f"| `{knob.name}` | {default} | {knob.unit or '—'} | {allowed} | {knob.help} |"


#: Heading -> the knobs below it.
GROUPS = {
    **{s.title: s.knobs for s in SYSTEMS if not isinstance(s, NetworkSystem)},
    "STREAM": StreamKnobs.specs(),
    **{core.title: core.knobs for core in CORES},
    "Queues": (CAPACITY,),
    "Sources": INPUT_KNOBS,
    "Engine": ENGINE_KNOBS,
}


@pytest.mark.parametrize("heading", GROUPS)
def test_the_knobs_are_documented_as_they_are(heading: str) -> None:
    table = SETTINGS.partition(f"### {heading}\n")[2].partition("\n##")[0]
    documented = [line for line in table.splitlines() if line.startswith("| `")]
    assert documented == [row(knob) for knob in GROUPS[heading]]


@pytest.mark.parametrize("verb", run.VERBS)
def test_every_option_is_documented(verb: str) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    for add in run.OPTIONS[verb]:
        add(parser)
    options = [name for name in parser._option_string_actions if name.startswith("--")]
    assert [name for name in options if f"`{name}" not in SETTINGS] == []


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


def test_the_knobs_with_previews_are_named() -> None:
    paragraph = SETTINGS.partition("Before a change is applied")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", paragraph))
    assert named == {*REPLAYED, *told("chosen")}
