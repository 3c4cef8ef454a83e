"""Autopilots of a core side by side in one unit: their looks on record, over kills, and learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.adaptive.core import Evaluations
from backend.adaptive.planlog.pilots import Pilots
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic
from backend.adaptive.planlog.steering import Steering
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.systems.contract import Refused, UnitState
from backend.systems.cores import CoreNews, LaidOutNetwork, NetworkRan, OperatorCore
from backend.systems.stream.system import NetworkSystem
from storage.reading.resume import autopilots_looks
from storage.store import open_reader
from storage.tables.rows import StoredLook
from storage.vocabulary.looks import LookFacts
from storage.vocabulary.planlog import BY_AUTOPILOT, LOOK
from storage.vocabulary.properties import Vocabulary
from storage.vocabulary.records import Json
from tests.engine_runs import RUN_ID, EngineRun

SUBJECTS = ("left" + BY_AUTOPILOT, "right" + BY_AUTOPILOT)
FLIP = 6


@dataclass(frozen=True)
class TwoPlans:
    """A sample has what an element costs under plan a, and under b."""

    schema: LogSchema

    def statistics(self, sample: Any) -> Sequence[float]:
        means: list[float] = sample.mean(axis=0).tolist()
        return means

    def search(self, sample: Any) -> Sequence[LogJson]:
        return [plan_of("a" if sample[:, 0].sum() < sample[:, 1].sum() else "b")]

    def prices(self, plan: LogJson, sample: Any) -> Any:
        return sample[:, "ab".index(plan[1][0])]

    def worst(self, old: LogJson, new: LogJson) -> float | None:
        return 3.0


def plan_of(name: str) -> LogJson:
    return ["filters", [name], []]


class ToyCore(OperatorCore):
    """Decides two things by autopilots, whose best plans change places once, in turns."""

    def __init__(self, evaluations: Evaluations) -> None:
        names = tuple(NamedStatistic(f"cost {plan}", "us/element") for plan in "ab")
        schemas = [LogSchema(names, "us/element", subject) for subject in SUBJECTS]
        self._evaluations = evaluations
        self._own = {s.subject: Steering(s, begins=evaluations.begins) for s in schemas}
        self._now = dict.fromkeys(SUBJECTS, "a")

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        return ""

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return job

    def pilots(self) -> Pilots:
        return self._own

    def observe(self, ran: NetworkRan) -> CoreNews:
        made = []
        for place, (subject, pilot) in enumerate(self._own.items()):
            rng = np.random.default_rng([place, ran.batch_id])
            cheap = "a" if ran.batch_id < FLIP * (1 + place) else "b"
            means = [1.0 if plan == cheap else 2.0 for plan in "ab"]
            sample = rng.normal(means, 0.1, (200, 2))
            pilot.sampled(5_000 + place, sample)
            now = self._now[subject]
            pilot.ran(200, float(sample[:, "ab".index(now)].sum()))
            look = pilot.look(TwoPlans(pilot.schema), plan_of(now), 100, 1.0)
            if look is not None:
                seq = self._evaluations.count()
                made.append(look.decision(LookFacts("toy", seq, ran.batch_id, 0, 0)))
                self._now[subject] = look.plan[1][0]
        return CoreNews(tuple(made), any(each.verdict == "switched" for each in made))

    def state(self) -> Mapping[str, Json]:
        return {"toy": self._now}

    def restore(self, state: UnitState) -> None:
        self._now = dict(state.facts["toy"])
        for pilot in self._own.values():
            pilot.forget()


class ToyKind:
    """Claims nothing."""

    name = title = "toy"
    vocabulary = Vocabulary()
    knobs = ()

    def claims(self, plan: NetworkPlan) -> frozenset[str]:
        return frozenset()

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return ToyCore(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> list[Any]:
        return []


TOY = NetworkSystem("stream", "toy", (ToyKind(),))


def begun(path: Path, continues: bool = False, learned: Any = None) -> EngineRun:
    schemas, texts = {"S": Schema.parse("x int")}, {"q": "Select Istream(x) From S [Rows 5]"}
    systems: Any = (TOY,)
    return EngineRun(
        path, schemas, texts, {"reject_sample_every": 1000}, continues=continues, systems=systems,
        learned=learned,
    )  # fmt: skip


def ran(path: Path, n: int = 20, kills: Sequence[int] = ()) -> EngineRun:
    run = begun(path)
    for batch in range(n):
        run.batch([{"x": batch}])
        if batch in kills:
            run.kill()
            run = begun(path, continues=True)
    return run


def logs(run: EngineRun) -> dict[str, list[StoredLook]]:
    looks = run.reader.looks(RUN_ID)
    return {subject: [look for look in looks if look.subject == subject] for subject in SUBJECTS}


def test_each_autopilot_of_a_unit_has_a_log_of_its_subject(tmp_path: Path) -> None:
    run = ran(tmp_path / "s.db")
    left, right = logs(run).values()
    assert [look.record["number"] for look in left] == list(range(1, len(left) + 1))
    assert [look.record["number"] for look in right] == list(range(1, len(right) + 1))
    assert left[0].record["began"] != right[0].record["began"]
    switched = run.reader.decisions(RUN_ID, verdicts=["switched"])
    assert [e.decision.detail["subject"] for e in reversed(switched)] == list(SUBJECTS)
    for entry in run.reader.decisions(RUN_ID, limit=100):
        decision = entry.decision
        assert decision.kind == LOOK
        assert decision.explanation.startswith(("left: ", "right: "))
        plan = run.reader.plan_at(RUN_ID, decision.batch)
        assert plan is not None
        assert decision.old["version"] == plan.version
        after = plan.version + 1 if decision.verdict == "switched" else None
        assert (decision.plan_version, (decision.new or {}).get("version")) == (after, after)
    run.reader.export_run(RUN_ID, tmp_path / "copy.db")
    with open_reader(str(tmp_path / "copy.db")) as copy:
        assert copy.looks(RUN_ID) == run.reader.looks(RUN_ID)
    run.close()


def test_looks_go_on_after_kills_as_if_there_had_been_none(tmp_path: Path) -> None:
    whole, killed = ran(tmp_path / "a.db"), ran(tmp_path / "b.db", kills=(0, 7, 13))
    for one, other in zip(logs(whole).values(), logs(killed).values(), strict=True):
        numbers = [look.record["number"] for look in other]
        assert numbers == list(range(1, len(other) + 1))
        assert {look.record["began"] for look in other} == {one[0].record["began"]}
        switches = [
            [
                (look.batch, look.record["t"])
                for look in of
                if look.record["chosen"] != look.record["plan"]
            ]
            for of in (one, other)
        ]
        assert switches[0] == switches[1] != []
    whole.close()
    killed.close()


def test_another_run_begins_with_the_logs_of_its_subjects(tmp_path: Path) -> None:
    run = ran(tmp_path / "s.db")
    with run.reader.reading() as connection:
        (unit,) = run.reader.units(RUN_ID)
        records = autopilots_looks(connection, RUN_ID, unit.id)
    run.close()
    pupil = begun(tmp_path / "t.db", learned={unit.id: list(records)})
    titles = [event.event.title for event in pupil.reader.events(RUN_ID)]
    assert titles.count("the plan log of another run is known") == 2
    pupil.close()
    others = [
        {**record, "schema": {**record["schema"], "subject": "up" + BY_AUTOPILOT}}
        for record in records
    ]
    with pytest.raises(Refused, match="its logs are of up by autopilot; this unit's"):
        begun(tmp_path / "u.db", learned={unit.id: others})
