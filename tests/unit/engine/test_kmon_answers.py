"""The same text under two systems in one run: joins under k-constraints answer as the others do."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from backend.model.schema import Schema
from backend.systems.registry import SYSTEMS
from tests.engine_runs import RUN_ID, EngineRun
from tests.unit.engine.test_named_systems import answers

TICKS = 200
SCHEMAS = {
    name: replace(Schema.parse("t bigint, pid bigint, size int"), key=("pid",)) for name in "CBO"
}
TEXTS = {
    "links": "Select C.pid, B.size, O.size From C [Range 40], B [Range 40], O [Range 40] "
    "Where C.pid = B.pid and B.pid = O.pid and O.size < 8",
    "pairs": "Select C.pid, O.t From C [Rows 50], O [Range 30] Where C.pid = O.pid and C.t < O.t",
    "sums": "Select Sum(B.size) As total From C [Range 20], B [Rows 30] Where C.pid = B.pid",
}


def packets(first: int) -> dict[str, list[dict[str, int]]]:
    """Those on three links in some ticks: a packet a tick, two thirds of which go on."""
    rng = random.Random(first)
    told: dict[str, list[dict[str, int]]] = {name: [] for name in SCHEMAS}
    for pid in range(first, first + TICKS - 12):
        t = pid
        for name in SCHEMAS:
            told[name].append({"t": t, "pid": pid, "size": rng.randrange(12)})
            t += rng.randrange(1, 6)
            if rng.random() > 2 / 3:
                break
    return {name: sorted(rows, key=lambda row: row["t"]) for name, rows in told.items()}


@pytest.mark.parametrize("name", list(TEXTS))
def test_the_same_text_under_stream_and_kmon_gives_the_same_answers(
    name: str, tmp_path: Path
) -> None:
    run = EngineRun(
        tmp_path / "store.db",
        SCHEMAS,
        {"plain": TEXTS["pairs"]},
        {"window_arrivals": 50},
        sink=tmp_path / "out",
        timestamps=dict.fromkeys(SCHEMAS, "t"),
        state=tmp_path / "state",
        systems=SYSTEMS,
    )
    asked = [
        run.ask("query_add", {"name": system, "text": TEXTS[name], "system": system})
        for system in ("stream", "kmon")
    ]
    for batch in range(4):
        run.batch(packets(batch * TICKS))
    assert [run.answer(one).state for one in asked] == ["applied", "applied"]
    assert {unit.id for unit in run.reader.units(RUN_ID)} == {"stream.network", "kmon.network"}
    by_stream, by_kmon = answers(tmp_path, "stream"), answers(tmp_path, "kmon")
    assert len(by_stream) > 50
    assert by_kmon == by_stream
    run.close()


ROAD = Schema.parse("t bigint, cid int, sid int, xpos int")
LAST = (
    "Select L.cid, L.sid From Car [Partition By cid Rows 1] As L, "
    "(Select Distinct cid From Car [Range 30]) As A Where L.cid = A.cid"
)
STOPPED = (
    "Select cid From Car [Partition By cid Rows 4] Group By cid "
    "Having count(*) = 4 and count(Distinct xpos) = 1"
)
ROAD_TEXTS = {
    "cars and where they are": LAST,
    "blocked segments": f"Select Distinct C.sid From ({LAST}) As C, ({STOPPED}) As S "
    "Where C.cid = S.cid",
    "entering": f"Select Istream(C.cid, C.sid) From ({LAST}) As C",
    "cars of slow segments": f"Select C.cid, G.n From ({LAST}) As C, "
    "(Select sid, count(*) As n From Car [Range 60] Group By sid Having count(*) > 3) As G "
    "Where C.sid = G.sid",
}


def reports(first: int) -> dict[str, list[dict[str, int]]]:
    """Some cars report every ten ticks, and stop now and then."""
    rows = []
    for t in range(first, first + TICKS):
        for cid in range(t % 10, 60, 10):
            rng = random.Random(cid * 1000 + t // 80)
            xpos = 0 if rng.random() < 0.3 else t + cid
            if rng.random() < 0.8:
                rows.append({"t": t, "cid": cid, "sid": (t + cid) // 25 % 7, "xpos": xpos})
    return {"Car": rows}


@pytest.mark.parametrize("name", list(ROAD_TEXTS))
@pytest.mark.parametrize("loss", ["never", "budget"])
def test_relations_that_change_are_joined_alike(name: str, loss: str, tmp_path: Path) -> None:
    run = EngineRun(
        tmp_path / "store.db",
        {"Car": ROAD},
        {"plain": "Select Distinct sid From Car [Now]"},
        {"window_arrivals": 50, "loss": loss},
        sink=tmp_path / "out",
        timestamps={"Car": "t"},
        state=tmp_path / "state",
        systems=SYSTEMS,
    )
    for system in ("stream", "kmon"):
        asked = run.ask("query_add", {"name": system, "text": ROAD_TEXTS[name], "system": system})
    for batch in range(4):
        run.batch(reports(batch * TICKS))
    assert run.answer(asked).state == "applied"
    by_stream, by_kmon = answers(tmp_path, "stream"), answers(tmp_path, "kmon")
    assert len(by_stream) > 20
    assert by_kmon == by_stream
    run.close()
