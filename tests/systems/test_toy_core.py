"""The turning core beside the others: a system of networks made of contracts and its own folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.core import Evaluations
from backend.model.functions import Functions
from backend.model.knobs import KnobSettings
from backend.operators.network.reports import NetworkReport
from backend.systems.registry import SYSTEMS
from backend.systems.stream.chains.core import CHAINS
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.layout import NetworkLayout
from backend.systems.stream.system import NetworkSystem
from backend.workloads.queries import read_query
from storage.vocabulary import registry
from storage.vocabulary.properties import joined
from tests.docs.tree import ROOT, texts
from tests.engine_runs import RUN_ID
from tests.systems.test_toy import imported
from tests.systems.toy_core import oracle
from tests.systems.toy_core.core import CORE, TurningKnobs
from tests.systems.toy_core.vocabulary import TURNING
from tests.unit.engine.test_named_systems import JOINED, NamedRun, answers
from tests.web.joins_run import SCHEMAS

TOY = NetworkSystem("turning", CORE.title, (CHAINS, CORE), needs=CORE)
UNIT = "turning.network"
FOLDER = ROOT / "tests" / "systems" / "toy_core"
#: What modules of a core may build on.
OPEN = (
    "backend.adaptive", "backend.model", "backend.operators.network", "backend.systems.contract",
    "backend.systems.publishing", "storage.vocabulary.graph", "storage.vocabulary.properties",
    "storage.vocabulary.records", "tests.systems.toy_core",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """Its line in VOCABULARIES."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "KNOWN", joined((*registry.VOCABULARIES, TURNING)))
        yield


class TurningRun(NamedRun):
    systems = (*SYSTEMS, TOY)


def started(folder: Path) -> TurningRun:
    """A run with the same text in the network of all and under the toy."""
    run = TurningRun(folder)
    run.ask("query_add", {"name": "one", "text": JOINED, "system": "stream"})
    run.ask("query_add", {"name": "two", "text": JOINED, "system": "turning"})
    run.ticks(4)
    return run


def turned(run: TurningRun) -> list[float | None]:
    values = run.reader.values(RUN_ID)
    wheels = [e.id for e in run.reader.entities(RUN_ID) if e.role == "wheel"]
    return [values[id]["turned_total"] for id in wheels]


def test_orders_turn_and_answers_stay_the_same(tmp_path: Path) -> None:
    run = started(tmp_path)
    one, two = answers(tmp_path, "one"), answers(tmp_path, "two")
    assert one
    assert one == two
    assert turned(run) == [4]
    plans = [p for p in run.reader.plans(RUN_ID) if p.unit_id == UNIT]
    assert plans[-1].evidence["wheels"]
    matrix = run.reader.matrix(RUN_ID, "turns", unit=UNIT)
    assert matrix is not None
    assert matrix.matrix.values == [[4]]
    turn = run.ask("knob", {"knob": "turn_every", "value": 10**6, "scope": UNIT})
    run.ticks(2)
    assert run.answer(turn).state == "applied"
    assert turned(run) == [4]
    run.close()


def test_it_bids_for_the_memory_of_the_run(tmp_path: Path) -> None:
    """Beside the caches of the joins in the other unit."""
    run = started(tmp_path)

    def pool() -> dict[str, float | None]:
        return run.reader.values(RUN_ID)["pool"]

    assert pool()["pool_bytes"] is None
    assert (free := pool()["granted_bytes"] or 0) > 8192
    asked = run.ask("knob", {"knob": "run_pool_bytes", "value": 8192})
    run.ticks(2)
    assert run.answer(asked).state == "applied"
    assert pool()["pool_bytes"] == 8192
    assert 0 < (pool()["granted_bytes"] or 0) <= 8192 < free
    assert pool()["pool_price"] is not None
    (shared,) = (e for e in run.reader.entities(RUN_ID) if e.role == "run pool")
    assert [one for one in shared.properties["pools"] if one.startswith("turning.")]
    run.close()


def test_its_state_outlasts_a_kill(tmp_path: Path) -> None:
    run = started(tmp_path)
    run.kill()
    again = TurningRun(tmp_path, continues=True)
    assert turned(again) == [4]
    again.ticks(1)
    assert turned(again) == [5]
    seqs = [e.decision.seq for e in again.reader.decisions(RUN_ID, unit=UNIT)]
    assert seqs == list(range(len(seqs), 0, -1))
    again.close()


def test_what_joins_nothing_is_refused(tmp_path: Path) -> None:
    run = TurningRun(tmp_path)
    refused = run.register("q", "turning", "Select Distinct a From R [Rows 5]")
    assert refused.state == "refused"
    assert "it joins nothing, so there is nothing to turn" in refused.answer
    run.close()


def test_its_modules_import_contracts_and_nothing_else_names_it() -> None:
    beyond = {
        path.name: name
        for path in FOLDER.glob("*.py")
        for name in imported(path)
        if not any(name == one or name.startswith(f"{one}.") for one in OPEN)
    }
    assert beyond == {}
    words = re.compile(r"""["'`](?:turning|turned_total|turn_every)["'`]|toy_core""")
    naming = {
        path.as_posix()
        for path, text in texts(".py", ".js").items()
        if path.parts[0] in ("backend", "bench", "dashboard", "assets", "storage")
        if words.search(text)
    }
    assert naming == set()


@given(st.lists(st.integers(0, 900), max_size=12), st.integers(1, 2000))
def test_it_turns_when_the_oracle_does(sizes: list[int], every: int) -> None:
    core, told = CORE.core(Evaluations()), []
    settings = KnobSettings.defaults(TurningKnobs.specs(), {"turn_every": every})
    query = read_query("q", JOINED, SCHEMAS, Functions(), {}, {})
    plan = compile_queries([query], since={"q": 0}, tick_us=1)
    core.lay_out(NetworkLayout.of(UNIT, plan), settings)
    for batch, n in enumerate(sizes):
        if core.observe(batch, n, NetworkReport()).is_new:
            told.append(batch)
    assert told == oracle.turns(sizes, every)
