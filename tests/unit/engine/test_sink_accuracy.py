"""Answers that say in the sink how accurate they are: as the page does, over kills, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from backend.cql import parse_query
from backend.model.schema import Attribute
from backend.operators.network.core.reports import NetworkReport, OperatorCounts
from backend.operators.network.core.tuning import Profile
from backend.operators.network.expressions.arrow import answer_schema, with_accuracy
from backend.operators.network.kmon.tuning import ConstraintId, ConstraintProfile, KMonProfile
from backend.operators.network.shards.answers import accuracies
from backend.operators.network.stores.retaining import RetainProfile
from backend.operators.network.temporal.shed_tuning import ShedProfile
from backend.systems.stream.compiling import compile_queries
from tests.systems.running import SCHEMA
from tests.unit.engine.test_shed_kills import N_BATCHES, ShedRun

LOST = {ConstraintId("RIDS", 0, 1): ConstraintProfile(n_lost=1)}
ELEMENTS = ["a", "valid_from", "valid_to", "tau", "sign"]


class ToldRun(ShedRun):
    accuracy = True


def told(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """Of each batch its elements in the sink."""
    batches: dict[int, list[dict[str, Any]]] = {}
    for path in sorted((folder / "out" / "query=shed").glob("batch-*.parquet")):
        elements = pq.read_table(path, partitioning=None).to_pylist()
        batches.setdefault(int(path.name.split("-")[1]), []).extend(elements)
    return batches


def test_elements_say_how_accurate_the_answer_was_after_their_batch(tmp_path: Path) -> None:
    """Limits are turned, and off in the end; the other run is killed before each batch."""
    folders = [tmp_path / name for name in ("alone", "killed", "plain")]
    for folder in folders:
        folder.mkdir()
    alone, killed, plain = ToldRun(folders[0]), ToldRun(folders[1]), ShedRun(folders[2])
    expected = []
    for batch in range(N_BATCHES):
        if batch:
            killed.kill()
            killed = ToldRun(folders[1], continues=True)
        killed.step()
        plain.step()
        expected.append(alone.step()["expected_accuracy"])
    assert expected[0] == expected[-1] == 1
    assert min(value or 0 for value in expected) < 0.5
    batches = told(folders[0])
    assert len(batches) == N_BATCHES
    for batch, elements in batches.items():
        assert {element["accuracy"] for element in elements} <= {expected[batch]}, batch
        assert all(list(element) == [*ELEMENTS, "accuracy"] for element in elements)
    assert told(folders[1]) == batches
    bare = {n: [{k: e[k] for k in ELEMENTS} for e in own] for n, own in batches.items()}
    assert told(folders[2]) == bare


@pytest.mark.parametrize(
    ("first", "second", "accuracy"),
    [
        (ShedProfile(expected=0.5), ShedProfile(), 1.0),
        (ShedProfile(expected=0.5, is_whole=False), ShedProfile(), 0.5),
        (
            ShedProfile(expected=0.5, is_whole=False),
            ShedProfile(expected=0.25, is_whole=False),
            0.125,
        ),
        (RetainProfile(), RetainProfile(n_arrived=3, n_refused=3), 1.0),
        (RetainProfile(n_missing=3), ShedProfile(expected=0.5, is_whole=False), None),
        (RetainProfile(), RetainProfile(lacks=True), None),
        (None, KMonProfile(), 1.0),
        (
            KMonProfile(constraints={ConstraintId("RIDS", 0, 1): ConstraintProfile(n_lost=1)}),
            None,
            None,
        ),
    ],
)
def test_an_answer_is_as_accurate_as_all_that_it_is_made_from(
    first: Profile | None, second: Profile | None, accuracy: float | None
) -> None:
    schemas = {"S": SCHEMA}
    texts = {"q": "Select X.a From S [Rows 3] As X, S [Rows 4] As Y Where X.a = Y.a"}
    texts["other"] = "Select Count(b) From S [Rows 5]"
    queries = [parse_query(name, text, schemas) for name, text in texts.items()]
    plan = compile_queries(queries, since=dict.fromkeys(texts, 0), tick_us=1)
    ids = [id for id, names in plan.readers().items() if names == ["q"]]
    profiles = {ids[0]: first, ids[1]: second}
    counts = {id: OperatorCounts(profile=profiles.get(id)) for id in plan.readers()}
    assert accuracies(plan, NetworkReport(operators=counts)) == {"q": accuracy, "other": 1.0}


def test_a_column_of_the_query_keeps_its_name() -> None:
    schema = answer_schema([Attribute("Accuracy", "int"), Attribute("accuracy_2", "int")])
    assert with_accuracy(schema).names == [*schema.names, "accuracy_3"]
