"""What a network may keep: beyond it new queries are refused and the run waits; nothing is lost."""

from __future__ import annotations

from pathlib import Path

from backend.model.ids import SYSTEM, unit_entity
from tests.engine_runs import RUN_ID
from tests.unit.engine.test_networks import UNIT, Run, answered

_MORE = {"name": "more", "text": "Select id From Cars [Rows 5]"}


def turned(run: Run, limit_bytes: int) -> None:
    asked = run.ask("knob", {"knob": "state_limit_bytes", "scope": UNIT, "value": limit_bytes})
    run.loop.idle()
    assert run.answer(asked).state == "applied"


def used(run: Run) -> int:
    return int(run.reader.values(RUN_ID)[unit_entity(UNIT)]["state_bytes"] or 0)


def held(run: Run) -> str:
    (engine,) = (e for e in run.reader.entities(RUN_ID) if e.id == SYSTEM)
    return str(engine.properties.get("held", ""))


def test_beyond_the_limit_the_run_waits_until_it_is_raised(tmp_path: Path) -> None:
    run = Run(tmp_path, knobs={"state_limit_bytes": 1000})
    run.seconds(0, 10)
    assert not run.loop.may_begin()
    why = f"the state of the network takes {used(run)} bytes, and state_limit_bytes allows 1000"
    assert why in held(run)
    (event,) = (e.event for e in run.reader.events(RUN_ID) if e.event.title == "the run paused")
    assert event.severity == "warning"
    turned(run, 2000)
    assert not run.loop.may_begin(), "it is still too little"
    turned(run, used(run))
    assert run.loop.may_begin()
    assert held(run) == ""
    run.close()


def test_a_query_is_refused_where_there_is_no_room(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.seconds(0, 10)
    turned(run, used(run))
    refused = run.ask("query_add", _MORE)
    run.loop.idle()
    assert run.answer(refused).answer.startswith("query 'more' is refused: the state of")
    turned(run, used(run) + 1)
    again = run.ask("query_add", _MORE)
    run.loop.idle()
    assert run.answer(again).state == "applied"
    run.close()


def test_a_query_that_goes_makes_room(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.seconds(0, 10)
    before = used(run)
    turned(run, before - 1)
    assert not run.loop.may_begin()
    run.ask("query_remove", {"name": "icy"})
    run.loop.idle()
    assert run.loop.may_begin()
    run.seconds(10, 11)
    assert used(run) < before
    assert run.loop.may_begin()
    run.close()


def test_going_on_takes_one_batch_more_and_answers_are_whole(tmp_path: Path) -> None:
    found = {}
    for limit_bytes in (0, 1000):
        folder = tmp_path / str(limit_bytes)
        folder.mkdir()
        run = Run(folder, knobs={"state_limit_bytes": limit_bytes})
        for n in range(4):
            run.seconds(10 * n, 10 * (n + 1), ice=int(n == 1))
            assert run.loop.may_begin() == (not limit_bytes)
            if limit_bytes:
                run.ask("go_on", {})
                run.loop.idle()
            assert run.loop.may_begin()
        run.batch({"Cars": [], "Roads": []}, ended=("Cars", "Roads"))
        run.close()
        found[limit_bytes] = [answered(folder, name) for name in ("recent", "named", "icy")]
    assert found[0] == found[1000]
    assert all(found[0])
