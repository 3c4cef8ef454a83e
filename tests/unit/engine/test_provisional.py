"""Turns that hold for a while: taken back by the engine, unless kept, also after a kill."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine_runs import EngineRun
from tests.unit.asc.stream import SCHEMA
from tests.web.engine_run import SMALL, TEXTS, UNIT, SelectionRun

MU = {"knob": "mu", "value": 0.4, "scope": UNIT, "unless_kept_s": 60}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[SelectionRun]:
    made = SelectionRun(tmp_path / "run.db", "r1")
    yield made
    made.close()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The first entry is what has passed, the second what the time of day was set to beside."""
    shift, clock, steady = [0.0, 0.0], time.time, time.monotonic
    monkeypatch.setattr(time, "time", lambda: clock() + sum(shift))
    monkeypatch.setattr(time, "monotonic", lambda: steady() + shift[0])
    return shift


def mu(run: EngineRun) -> float:
    return run.loop.settings.scopes[UNIT].number("mu")


def test_a_turn_nobody_keeps_is_taken_back(run: SelectionRun, later: list[float]) -> None:
    turn = run.ask("knob", MU)
    run.loop.idle()
    assert (mu(run), run.answer(turn).state) == (0.4, "applied")
    later[0] = 50.0
    run.loop.idle()
    assert mu(run) == 0.4
    later[0] = 70.0
    run.loop.idle()
    assert mu(run) == 0.05
    events = [one.event for one in run.reader.events("r1", kinds=("knob",))]
    assert [event.title for event in events] == ["mu 0.05 → 0.4", "mu 0.4 → 0.05"]
    assert events[-1].ref == {"command": turn.id, "taken_back": True}
    assert "not kept within 60 s" in events[-1].detail
    assert [knob.value for knob in run.reader.knob_history("r1", "mu")] == [0.05, 0.4, 0.05]


def policy(run: EngineRun) -> str:
    return run.loop.settings.scopes[UNIT].word("policy")


def test_turning_a_threshold_takes_over_from_the_autopilot(run: SelectionRun) -> None:
    run.ask("knob", {"knob": "policy", "value": "autopilot", "scope": UNIT})
    run.loop.idle()
    run.ask("knob", {"knob": "caution", "value": 5, "scope": UNIT})
    run.loop.idle()
    assert policy(run) == "autopilot"
    run.ask("knob", {"knob": "mu", "value": 0.4, "scope": UNIT})
    run.loop.idle()
    assert (mu(run), policy(run)) == (0.4, "thresholds")
    events = [one.event for one in run.reader.events("r1", kinds=("knob",))]
    assert events[-1].title == "mu 0.05 → 0.4; policy autopilot → thresholds"
    assert events[-1].ref["also"] == {"knob": "policy", "scope": UNIT, "old": "autopilot"}
    values = [knob.value for knob in run.reader.knob_history("r1", "policy")]
    assert values == ["thresholds", "autopilot", "thresholds"]


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_take_over_nobody_keeps_gives_back(
    run: SelectionRun, later: list[float], is_kept: bool
) -> None:
    run.ask("knob", {"knob": "policy", "value": "autopilot", "scope": UNIT})
    run.loop.idle()
    turn = run.ask("knob", MU)
    run.loop.idle()
    assert (mu(run), policy(run)) == (0.4, "thresholds")
    if is_kept:
        run.ask("keep", {"command": turn.id})
        run.loop.idle()
    later[0] = 70.0
    run.loop.idle()
    assert (mu(run), policy(run)) == ((0.4, "thresholds") if is_kept else (0.05, "autopilot"))


@pytest.mark.parametrize("set_by_s", [86_400.0, -86_400.0])
def test_who_sets_the_clock_takes_no_turn_back_and_keeps_none(
    run: SelectionRun, later: list[float], set_by_s: float
) -> None:
    run.ask("knob", MU)
    run.loop.idle()
    later[1] = set_by_s
    run.loop.idle()
    assert mu(run) == 0.4
    later[0] = 70.0
    run.loop.idle()
    assert mu(run) == 0.05


def test_a_kept_turn_stands(run: SelectionRun, later: list[float]) -> None:
    turn = run.ask("knob", MU)
    run.loop.idle()
    kept = run.ask("keep", {"command": turn.id})
    again = run.ask("keep", {"command": turn.id})
    run.loop.idle()
    assert run.answer(kept).state == "applied"
    assert "is not provisional" in run.answer(again).answer
    later[0] = 70.0
    run.loop.idle()
    assert mu(run) == 0.4


def test_a_later_turn_of_the_knob_stands(run: SelectionRun, later: list[float]) -> None:
    run.ask("knob", MU)
    run.ask("knob", {"knob": "mu", "value": 0.2, "scope": UNIT})
    run.loop.idle()
    later[0] = 70.0
    run.loop.idle()
    assert mu(run) == 0.2


def test_a_run_that_goes_on_takes_it_back(tmp_path: Path, later: list[float]) -> None:
    first = SelectionRun(tmp_path / "run.db", "r1")
    turn = first.ask("knob", MU)
    first.loop.idle()
    first.kill()
    second = EngineRun(
        tmp_path / "run.db", {"S": SCHEMA}, TEXTS, SMALL, run_id="r1", continues=True
    )
    assert [one.id for one in second.writer.unkept_turns("r1")] == [turn.id]
    assert mu(second) == 0.4
    later[0] = 70.0
    second.loop.idle()
    assert mu(second) == 0.05
    assert second.writer.unkept_turns("r1") == ()
    second.close()
