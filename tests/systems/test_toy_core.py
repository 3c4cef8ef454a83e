"""The turning core beside the others: a system of networks made of contracts and its own folder,
with a face of its own.

What stands in for its lines in SYSTEMS, VOCABULARIES and FACES is in the fixtures here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import plotly
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.core import Evaluations
from backend.model.functions import Functions
from backend.model.knobs import KnobSettings
from backend.operators.network.core.reports import NetworkReport
from backend.systems.cores import NetworkRan
from backend.systems.registry import SYSTEMS
from backend.systems.stream.chains.core import CHAINS
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.layout import NetworkLayout
from backend.systems.stream.system import NetworkSystem
from backend.workloads.queries import read_query
from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.panels.facts import read_facts
from dashboard.serving.bundle import ASSETS
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from dashboard.views.unreplayed import why_not
from dashboard.web.app import create_app
from dashboard.web.shell import lay_out
from storage.reader import open_reader
from tests.engine_runs import RUN_ID
from tests.house.tree import ROOT, texts
from tests.systems.registered import lines_of
from tests.systems.test_toy import imported
from tests.systems.toy_core import face, oracle, panel
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
    "backend.systems.cores", "backend.systems.publishing", "dashboard.base", "dashboard.components",
    "dashboard.figures.theme", "dashboard.pages.contract", "dashboard.panels.contract",
    "dashboard.views.book", "storage.reader", "storage.vocabulary.graph",
    "storage.vocabulary.memory", "storage.vocabulary.properties", "storage.vocabulary.records",
    "tests.systems.toy_core",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """Its lines in VOCABULARIES and FACES."""
    with lines_of(TURNING, face.FACE):
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
    words = re.compile(
        r"""["'`/](?:turning|turned_total|turn_every)["'`]|toy_core|pw-wheel|TurningWheel|wheel\.(?:js|css)"""
    )
    naming = {
        path.as_posix()
        for path, text in texts(".py", ".js", ".css").items()
        if path.parts[0] in ("backend", "bench", "dashboard", "assets", "storage")
        if words.search(text)
    }
    assert naming == set()


@pytest.fixture(scope="module")
def services(registered: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    run = started(tmp_path_factory.mktemp("turning"))
    with open_reader(run.path) as reader:
        yield Services(reader, None, Settings(run.path, "a-token-for-tests"), Hub(reader))
    run.close()


def test_its_page_has_its_panel_figure_and_knob(services: Services) -> None:
    (page,) = face.FACE.pages
    context = contexts.resolve(services.reader, Moment(run=RUN_ID, unit=UNIT))
    drawn = lay_out(page.path, replace(context, theme="light"), services)
    shown = json.dumps(drawn, cls=plotly.utils.PlotlyJSONEncoder)
    assert [one.name for one in page.panels] == ["turns"]
    assert '"type": "bar"' in shown
    assert '["@TurningWheel", {"name": "Wheel of a and b and c", "turns": 4}]' in shown
    assert "Tuples from turn to turn" in shown
    assert page.has_records(read_facts(context, services.reader))
    assert "Nothing tells what an order costs" in why_not("turn_every")


def test_the_application_serves_its_page_script_and_sheet(services: Services) -> None:
    browser = create_app(services).server.test_client()
    assert browser.get(panel.PAGE).status_code == 200
    index = browser.get("/").text
    (main,) = set(re.findall(r'"(/scripts/\w+/modules/main\.js)"', index))
    (styles,) = set(re.findall(r'"(/scripts/\w+/styles\.css)"', index))
    script, sheet = browser.get(main).text, browser.get(styles).text
    assert "Object.assign(components, { TurningWheel });" in script
    assert ".pw-wheel {" in sheet
    assert sheet.index(".pw-wheel {") < sheet.index((ASSETS / "z_narrow.css").read_text("utf-8"))
    assert '"data-pw-path": "/turning"' in json.dumps(browser.get("/_dash-layout").get_json())


@given(st.lists(st.integers(0, 900), max_size=12), st.integers(1, 2000))
def test_it_turns_when_the_oracle_does(sizes: list[int], every: int) -> None:
    core, told = CORE.core(Evaluations()), []
    settings = KnobSettings.defaults(TurningKnobs.specs(), {"turn_every": every})
    query = read_query("q", JOINED, SCHEMAS, Functions(), {}, {})
    plan = compile_queries([query], since={"q": 0}, tick_us=1)
    core.lay_out(NetworkLayout.of(UNIT, plan), settings)
    for batch, n in enumerate(sizes):
        if core.observe(NetworkRan(batch, n, NetworkReport())).is_new:
            told.append(batch)
    assert told == oracle.turns(sizes, every)
