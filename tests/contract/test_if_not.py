"""What if a decision had not changed the plan: a real run, its branch, and what both come to."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.hosts.in_process import InProcessLaunch
from backend.hosts.spark.start.launch_settings import LaunchSettings
from backend.workloads.spec import load_workload
from dashboard.base import face
from dashboard.panels.if_not import IfNotAnswer, read_if_not
from dashboard.systems import FACES
from storage.store import Reader, open_engine_writer, open_reader
from storage.vocabulary.records import Decision, Run
from tests.contract.test_branches import WORKLOAD, Recorded
from tests.unit.dashboard_pages.test_if_not_view import decision

EAGER = "[knobs]\nmu = 0\nmin_gain = 0\ncooldown_tuples = 0"
PHASES = """phases = [
  { distribution = "uniform", n_tuples = 2800, selective = ["a2"], permissive = ["a1", "a3"] },
  { distribution = "uniform", n_tuples = 2600, selective = ["a1"], permissive = ["a2", "a3"] },
  { distribution = "uniform", n_tuples = 2600, selective = ["a2"], permissive = ["a1", "a3"] },
]"""
QUERY = "a1 < 30 and a2 < 30 and a3 < 30"
PILOTED = f"""
[streams.S]
schema = "a1 int, a2 int, a3 int"
[streams.S.source]
format = "drift"
seed = 3
{PHASES}
[knobs]
max_batch_tuples = 400
profile_prob = 0.5
no_drop_visit_cost = 1.0
[queries]
low = "Select * From S Where {QUERY}"
mid = "Select * From S Where a1 > 50 and a2 < 60 and a3 < 30"
"""


def drifting(folder: Path) -> Recorded:
    """A run whose filtering attribute moves twice, and whose plan follows at once."""
    face.use(FACES)
    eager = WORKLOAD.replace("[knobs]", EAGER).replace("a1 < 20 and a2 < 60", QUERY)
    return Recorded(folder, re.sub(r"phases = \[.*?\}\]", PHASES, eager, flags=re.DOTALL))


def piloted(folder: Path) -> str:
    """The store of a run whose plan the autopilot changes."""
    face.use(FACES)
    path, store = folder / "w.toml", str(folder / "s.db")
    path.write_text(PILOTED)
    with open_engine_writer(store) as writer:
        settings = LaunchSettings("none", folder, folder / "runs", True)
        assert InProcessLaunch(load_workload(path), writer, settings).execute()
    return store


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return drifting(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def reader(recorded: Recorded) -> Iterator[Reader]:
    with open_reader(recorded.store) as found:
        yield found


def test_a_switch_of_the_autopilot_is_told_by_later_looks(tmp_path: Path) -> None:
    """No knob keeps its plan: nothing is replayed. What kept the plan has no other future."""
    with open_reader(piloted(tmp_path)) as reader:
        (run,) = reader.runs()
        rows = reader.decisions(run.id, limit=1000, unit="asc.S")
        looks = [row.decision for row in rows if row.decision.kind == "look"]
        answers = {look.seq: read_if_not(reader, run, look, "") for look in looks}
    switched = [answers[look.seq] for look in looks if look.verdict == "switched"]
    assert "priced" in {answer.state for answer in switched}
    for answer in switched:
        if answer.state == "priced":
            assert answer.words[0].startswith("This switch ")
            assert [at for at, _ in answer.recorded] == [at for at, _ in answer.kept]
            assert (answer.unit, answer.ask, answer.branch) == ("visits", None, "")
        else:
            assert answer.words[0].startswith("No look has priced the plan before since.")
    kept = [answers[look.seq] for look in looks if look.verdict != "switched"]
    assert {answer.words[0] for answer in kept} == {
        "It changed nothing: there is no other future to try."
    }


def changes(reader: Reader, run: str) -> list[Decision]:
    """Rearrangements that put another plan in the place of one, oldest first."""
    rows = reader.decisions(run, verdicts=("switched",), limit=1000, unit="asc.S")
    made = [row.decision for row in rows if row.decision.kind == "rearrangement"]
    return sorted(made, key=lambda decision: decision.seq)


def run_of(reader: Reader, id: str) -> Run:
    run = reader.run(id)
    assert run is not None
    return run


def ask(reader: Reader, recorded: Recorded, decision: Decision) -> IfNotAnswer:
    return read_if_not(reader, run_of(reader, recorded.id), decision, "")


def visits(reader: Reader, run: str, first: int, last: int) -> float:
    """Every visit of every construct, batch by batch."""
    total = 0.0
    for entity in reader.entities(run, last):
        series = (
            reader.series(run, entity.id, "reached_tuples") if entity.kind == "operator" else None
        )
        if series is not None and entity.unit_id == "asc.S":
            pairs = zip(series.batch.tolist(), series.value.tolist(), strict=True)
            total += sum(value for batch, value in pairs if first <= batch <= last)
    return total


def test_the_plan_of_before_is_kept_and_both_runs_are_counted(
    recorded: Recorded, reader: Reader
) -> None:
    decision = changes(reader, recorded.id)[0]
    before = ask(reader, recorded, decision)
    assert (before.state, before.ask) == ("offered", None)
    assert before.words[0].startswith("No engine is at work here. Typed in a terminal")
    words = shlex.split(before.line)[2:]
    assert recorded.branch(*[word for word in words[1:-2] if not word.startswith("--store")]) == 0

    after = ask(reader, recorded, decision)
    assert after.state == "ready"
    kept = changes(reader, after.branch)
    assert [one.batch for one in kept if one.batch >= decision.batch] == []
    plans = (
        reader.plan_at(after.branch, 10_000, "asc.S"),
        reader.plan_at(recorded.id, decision.batch, "asc.S"),
    )
    assert plans[0] is not None
    assert plans[1] is not None
    assert plans[0].order == plans[1].order

    assert after.last is not None
    stretch = decision.batch + 1, after.last
    ran, other = (visits(reader, run, *stretch) for run in (recorded.id, after.branch))
    numbers = [float(part[1]) for part in after.recorded if stretch[0] <= part[0] <= stretch[1]]
    assert sum(numbers) == pytest.approx(ran)
    verb = "saved nothing" if ran == other else "saved" if ran < other else "cost"
    assert f"This change {verb}" in after.words[0]
    assert f"in batches {stretch[0]} to {stretch[1]}" in after.words[0]


def test_before_the_first_order_one_was_guessed(recorded: Recorded, reader: Reader) -> None:
    rows = reader.decisions(recorded.id, verdicts=("switched",), limit=1000, unit="asc.S")
    first = min((row.decision for row in rows), key=lambda one: one.seq)
    answer = ask(reader, recorded, first)
    assert answer.state == "impossible"
    assert "the one before was guessed" in answer.words[0]


def test_what_changed_nothing_has_no_other_future(recorded: Recorded, reader: Reader) -> None:
    rows = reader.decisions(recorded.id, limit=1000, unit="asc.S")
    quiet = next(row.decision for row in rows if row.decision.verdict != "switched")
    assert ask(reader, recorded, quiet).words == [
        "It changed nothing: there is no other future to try."
    ]


def test_every_kind_that_is_kept_names_a_knob_of_its_system() -> None:
    from backend.engine.knobs import KNOBS

    face.use(FACES)
    names = {spec.name for spec in KNOBS}
    for own in FACES:
        for kind, rule in own.kept.items():
            turn = rule.setting(decision(["x"], ["x", "y"], kind), {})
            assert rule.why if turn is None else turn[0] in names
    needs = {name: need for own in FACES for name, need in own.needs.items()}
    assert needs.keys() <= names
    assert {need.knob for need in needs.values() if need.knob} <= names
