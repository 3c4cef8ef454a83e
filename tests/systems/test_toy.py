"""The toy system beside the others in one run, on every page: it needs no file but its own.

What stands in for its lines in SYSTEMS, VOCABULARIES and FACES is in the fixtures here.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import plotly
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.contract import Chunk
from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.pages import DECISIONS, KNOBS, MATRIX, PAGES, contract, plan
from dashboard.pages.plan_facts import read
from dashboard.serving.live import Hub
from dashboard.serving.services import Services
from dashboard.serving.settings import Settings
from dashboard.views.plan import plan_nodes
from storage.reader import open_reader
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.records import Decision
from tests.engine_runs import RUN_ID, EngineRun
from tests.golden_files import check_golden
from tests.house.tree import ROOT, texts
from tests.systems.registered import lines_of
from tests.systems.running import BATTERY, FUNCTIONS, SCHEMA
from tests.systems.toy import face, oracle
from tests.systems.toy.core import BOUND_TUPLES, Halving
from tests.systems.toy.operator import SampleOperator
from tests.systems.toy.vocabulary import SAMPLING

TEXTS = {
    "everything": "Select * From S",
    "low": "Select * From S Where a < 20 and b < 60",
    "calls": "Select * From T Where rare(b) and common(a)",
    "other": "Select * From T",
}
UNITS = {"sampling.S", "asc.S", "agreedy.calls", "sampling.T"}
UNIT = "sampling.S"
FOLDER = ROOT / "tests" / "systems" / "toy"
#: What modules of a system may build on.
OPEN = (
    "backend.adaptive", "backend.model", "backend.operators.contract", "backend.systems.contract",
    "backend.systems.publishing", "dashboard.base", "dashboard.components",
    "dashboard.panels.contract", "storage.reader", "storage.vocabulary.graph",
    "storage.vocabulary.properties", "storage.vocabulary.records", "tests.systems.toy",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """Its lines in VOCABULARIES and FACES."""
    with lines_of(SAMPLING, face.FACE):
        yield


def run_on(path: Path, n_batches: int, **options: Any) -> EngineRun:
    """A run of the toy and the others over two streams."""
    schemas = {"S": SCHEMA, "T": SCHEMA}
    run = EngineRun(path, schemas, TEXTS, functions=FUNCTIONS, systems=BATTERY, **options)
    feed(run, n_batches)
    return run


def feed(run: EngineRun, n_batches: int) -> None:
    for _ in range(n_batches):
        rng = random.Random(run.batch_id)
        run.batch({stream: [_row(rng) for _ in range(300)] for stream in ("S", "T")})


def _row(rng: random.Random) -> dict[str, Any]:
    return {"a": rng.randrange(100), "b": rng.randrange(100), "c": rng.choice(["x", "n", None])}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[EngineRun]:
    made = run_on(tmp_path / "store.db", 4)
    yield made
    made.close()


def shares_of(run: EngineRun) -> list[float]:
    """The shares of the unit's plans."""
    plans = [p for p in run.reader.plans(RUN_ID) if p.unit_id == UNIT]
    return [plan.evidence["share"] for plan in plans]


def test_a_run_records_its_plans_decisions_knob_samples_and_matrix(run: EngineRun) -> None:
    reader = run.reader
    assert {unit.id for unit in reader.units(RUN_ID)} == UNITS
    assert shares_of(run) == [1.0, 0.5]
    plans = [p for p in reader.plans(RUN_ID) if p.unit_id == UNIT]
    (node,) = [n for n in PlanGraph.from_json(plans[-1].graph).nodes if n.role == "sample"]
    assert (node.name, node.properties) == ("everything", {"share": 0.5})
    found = [e.decision for e in reader.decisions(RUN_ID, unit=UNIT)][::-1]
    assert [d.verdict for d in found] == ["switched", *["below_threshold"] * 3]
    assert [d.plan_version for d in found] == [2, None, None, None]
    (knob,) = [k for k in reader.knobs(RUN_ID) if k.scope == UNIT]
    assert (knob.name, knob.value, knob.unit) == ("share", 1.0, "prob")
    passed = reader.values(RUN_ID)[node.id]["passed_prob"]
    assert passed == pytest.approx(0.5, abs=0.1)
    stored = reader.matrix(RUN_ID, "shares", unit=UNIT)
    assert stored is not None
    assert stored.matrix.values == [[1.0], [0.5], [0.5], [0.5]]


def test_a_turn_of_its_knob_acts_and_a_wrong_one_is_refused(run: EngineRun) -> None:
    turned = run.ask("knob", {"knob": "share", "value": 0.1, "scope": UNIT})
    wrong = run.ask("knob", {"knob": "share", "value": 1.5, "scope": "sampling.T"})
    feed(run, 1)
    assert run.answer(turned).state == "applied"
    assert "allowed 0..1 prob" in run.answer(wrong).answer
    assert shares_of(run) == [1.0, 0.5, 0.1]
    values = run.reader.values(RUN_ID)
    (step,) = [
        e.id for e in run.reader.entities(RUN_ID) if e.role == "sample" and e.unit_id == UNIT
    ]
    assert values[step]["passed_prob"] == pytest.approx(0.1, abs=0.06)


def test_what_it_leaves_out_is_on_record_while_it_does(run: EngineRun) -> None:
    def events() -> list[tuple[str, str]]:
        kept = [e.event for e in run.reader.events(RUN_ID) if e.event.kind == "exactness"]
        return [(e.title, e.detail) for e in kept if e.unit_id == UNIT]

    assert events() == [("answers are approximate", "0.5 of the tuples pass")]
    assert run.reader.values(RUN_ID)[f"{UNIT}/query:everything"]["inexact"] == 1
    run.ask("knob", {"knob": "share", "value": 1.0, "scope": UNIT})
    feed(run, 1)
    assert {title for title, _ in events()} == {
        "answers are approximate",
        "answers are exact again",
    }
    assert not run.reader.values(RUN_ID)[f"{UNIT}/query:everything"].get("inexact")


def test_it_goes_on_after_a_kill(tmp_path: Path) -> None:
    run = run_on(tmp_path / "store.db", 3)
    run.kill()
    run = run_on(tmp_path / "store.db", 2, continues=True)
    assert shares_of(run) == [1.0, 0.5]
    seqs = [e.decision.seq for e in run.reader.decisions(RUN_ID, unit=UNIT)]
    assert seqs == [5, 4, 3, 2, 1]
    stored = run.reader.matrix(RUN_ID, "shares", unit=UNIT)
    assert stored is not None
    assert stored.matrix.values == [[0.5], [0.5]]
    run.close()


@pytest.fixture(scope="module")
def services(registered: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    run = run_on(tmp_path_factory.mktemp("toy") / "store.db", 4)
    with open_reader(run.path) as reader:
        yield Services(reader, None, Settings(run.path, "a-token-for-tests"), Hub(reader))
    run.close()


def text_of(page: contract.Page, services: Services, **moment: Any) -> str:
    context = contexts.resolve(services.reader, Moment(run=RUN_ID, **moment))
    found = page.layout(context, services)
    return json.dumps(found, cls=plotly.utils.PlotlyJSONEncoder, ensure_ascii=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.nav_label)
def test_every_page_lays_out_at_any_moment_for_any_unit(
    page: contract.Page, services: Services
) -> None:
    for unit in ("", *UNITS):
        for at in (None, 0, 3):
            assert text_of(page, services, unit=unit, at=at)


def test_its_panel_knob_decision_and_node_are_shown(services: Services) -> None:
    matrix = text_of(MATRIX, services, unit=UNIT)
    shown = {p.name for p in MATRIX.panels if f'"pw-{p.name}-box"' in matrix}
    assert shown == {"shares"}
    assert '"name": "share", "scope": "sampling.S"' in matrix
    assert "Shares that pass" not in text_of(MATRIX, services, unit="asc.S")
    assert '"place": "page", "name": "share", "scope": "sampling.S"' in text_of(KNOBS, services)
    decision = text_of(DECISIONS, services, unit=UNIT, node="1")
    assert "300 tuples passed, 200 may: the share goes from 1 to 0.5" in decision
    context = contexts.resolve(services.reader, Moment(run=RUN_ID))
    facts = read(services.reader, context)
    assert facts.plan is not None
    nodes = [n for n in plan_nodes(facts.plan) if n.kind == "sample"]
    assert {(n.name, n.unit) for n in nodes} == {
        ("everything", "Sampling of S"),
        ("other", "Sampling of T"),
    }
    inspected = text_of(plan.PAGE, services, node=nodes[0].id)
    assert SAMPLING.properties["passed_prob"].meaning in inspected


def imported(path: Path) -> set[str]:
    """Names of our own modules a file imports from."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    own = ("backend", "dashboard", "storage", "tests")
    return {name for name in found if name.partition(".")[0] in own}


def test_its_modules_import_contracts_and_nothing_else_names_it() -> None:
    beyond = {
        path.name: name
        for path in FOLDER.glob("*.py")
        for name in imported(path)
        if not any(name == one or name.startswith(f"{one}.") for one in OPEN)
    }
    assert beyond == {}
    words = re.compile(r"""["'`](?:sampling|passed_prob|halving|bound)["'`]|systems[./]toy""")
    naming = {
        path.as_posix()
        for path, text in texts(".py", ".js").items()
        if path.parts[0] in ("backend", "bench", "dashboard", "assets", "storage")
        if words.search(text)
    }
    assert naming == set()


@given(st.lists(st.integers(0, 2**32 - 1), max_size=50), st.floats(0, 1))
def test_the_operator_lets_pass_what_the_oracle_does(draws: list[int], share: float) -> None:
    operator = SampleOperator(("p", "q"), share)
    work = operator.open(0, 0)
    rows = pa.RecordBatch.from_pydict({"a": draws})
    emitted = work.take(Chunk(rows, np.array(draws, dtype=np.uint32)))
    wanted = [n for n in range(len(draws)) if draws[n] < round(share * 2**32)]
    assert emitted.rows.tolist() == wanted
    assert set(wanted) ^ set(oracle.passes(draws, share)) <= {
        n for n, draw in enumerate(draws) if abs(draw - share * 2**32) <= 1
    }
    assert emitted.query_ids.to_pylist() == [["p", "q"]] * len(wanted)
    assert operator.merged([work.report()]) == len(wanted)


def batches(n: int, size: int) -> list[list[int]]:
    rng = random.Random(7)
    return [[rng.randrange(2**32) for _ in range(size)] for _ in range(n)]


@given(st.lists(st.integers(0, 900), max_size=8), st.sampled_from([0.0, 0.3, 1.0]))
def test_the_shares_are_those_of_the_oracle(sizes: list[int], first: float) -> None:
    drawn = [batch[:size] for batch, size in zip(batches(len(sizes), 900), sizes, strict=True)]
    core, found = Halving(first), []
    for number, draws in enumerate(drawn):
        found.append(core.share)
        core.ran(number, len(draws), len(oracle.passes(draws, core.share)), 0)
    assert found == oracle.shares(drawn, first, BOUND_TUPLES)


def test_the_trace() -> None:
    core, lines = Halving(1.0), []
    for number, draws in enumerate(batches(6, 700)):
        told = core.ran(number, 700, len(oracle.passes(draws, core.share)), 0)
        d = next(one for one in told if isinstance(one, Decision))
        lines.append(f"#{d.seq} {d.verdict} [{d.lhs} {d.relation} {d.rhs}]: {d.explanation}")
    check_golden("toy_trace.txt", "\n".join(lines) + "\n")
