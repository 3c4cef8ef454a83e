"""The drift stream: reproducible from any position, distributed as scheduled; its queries."""

from __future__ import annotations

import json
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.cql import parse_query
from backend.model.conditions import attributes_of
from backend.workloads.drift import (
    DRIFT_SCHEMA,
    HUBS,
    P_ATTRIBUTES,
    DriftError,
    Phase,
    drift_table,
    drift_values,
    phases_from_json,
    q1_queries,
)
from backend.workloads.spec import load_workload, shipped_workloads

PHASES = (
    Phase("uniform", 5000),
    Phase("bell", 10_000, ("a1",), ("a2",), 0.5),
    Phase("uniform", 3),
)
N_TUPLES = sum(phase.n_tuples for phase in PHASES)
WHOLE = drift_values(3, PHASES, 0, 2 * N_TUPLES)


@given(st.integers(0, 2 * N_TUPLES), st.integers(0, 20_000))
@settings(max_examples=50, deadline=None)
def test_any_slice_is_a_slice_of_the_whole(start: int, count: int) -> None:
    count = min(count, 2 * N_TUPLES - start)
    assert (drift_values(3, PHASES, start, count) == WHOLE[:, start : start + count]).all()


def test_the_table_has_the_schema_and_seeds_differ() -> None:
    table = drift_table(3, PHASES, 10, 5)
    assert table.column_names == list(DRIFT_SCHEMA.names)
    assert {str(field.type) for field in table.schema} == {"int32"}
    assert table.column("a4").to_pylist() == WHOLE[3, 10:15].tolist()
    assert not table.equals(drift_table(4, PHASES, 10, 5))


def test_values_are_distributed_as_the_phase_says() -> None:
    n = 200_000
    uniform = drift_values(1, [Phase("uniform", n)], 0, n)
    assert uniform.min() == 0
    assert uniform.max() == 99
    counts = np.bincount(uniform.ravel(), minlength=100) / uniform.size
    assert np.abs(counts - 0.01).max() < 0.0003
    bell = drift_values(1, [Phase("bell", n, ("a1",), ("a2",), 0.8)], 0, n)
    assert abs(bell[4].mean() - 50) < 0.2
    assert abs(bell[4].std() - 15) < 0.2
    assert abs((bell[0] >= 80).mean() - 0.8 - 0.2 * 0.025) < 0.01
    assert abs((bell[1] < 20).mean() - 0.8 - 0.2 * 0.021) < 0.01
    assert abs(np.corrcoef(bell[5], bell[6])[0, 1]) < 0.01


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ("", "phases must be a list of tables"),
        ("[]", "phases must be a list of tables"),
        ("[5]", "phases must be a list of tables"),
        ('[{"n_tuple": 5}]', "phase 1 has an unknown key 'n_tuple'"),
        ('[{"n_tuples": 5}, {}]', "phase 2: n_tuples must be a whole number above 0"),
        ('[{"n_tuples": 5, "distribution": "zipf"}]', "phase 1: distribution must be uniform or b"),
        ('[{"n_tuples": 5, "strength": 2}]', "phase 1: strength must be within 0..1"),
        ('[{"n_tuples": 5, "selective": ["a21"]}]', "phase 1: there is no attribute 'a21'"),
        ('[{"n_tuples": 5, "n_tuples": 6}]', "a phase has the key 'n_tuples' twice"),
        ('[{"n_tuples": 5, "selective": "a1"}]', "phase 1: selective must be a list of attributes"),
    ],
)
def test_phases_that_cannot_be(phases: str, message: str) -> None:
    with pytest.raises(DriftError, match=re.escape(message)):
        phases_from_json(phases)


def test_phases_as_an_option() -> None:
    table = {"distribution": "bell", "n_tuples": 7, "permissive": ["a3"], "strength": 1}
    assert phases_from_json(json.dumps([table])) == (Phase("bell", 7, (), ("a3",), 1),)


def test_q1_has_the_published_characteristics() -> None:
    queries = q1_queries(2)
    assert len(queries) == 50
    assert sum(text.count(" a") - text.count(" and") for text in queries.values()) == 204
    used = [set(re.findall(r"\ba\d+\b", text)) for text in queries.values()]
    assert set().union(*used) == set(P_ATTRIBUTES)
    covers = [c for c in combinations(P_ATTRIBUTES, 3) if all(u & set(c) for u in used)]
    assert covers == [HUBS[0]]
    assert not any(all(u & set(c) for u in used) for c in combinations(P_ATTRIBUTES, 2))
    for op in (" = ", " <> ", " < ", " <= ", " > ", " >= "):
        assert any(op in text for text in queries.values())


@pytest.mark.parametrize("k", [1, 7, 512])
def test_any_number_of_queries_parses(k: int) -> None:
    queries = q1_queries(5, k, common=("a1",))
    assert len(queries) == k
    for name, text in queries.items():
        condition = parse_query(name, text, {"Drift": DRIFT_SCHEMA}).condition
        assert "a1" in attributes_of(condition)


def test_a_common_selective_attribute_alone_drops_most_tuples() -> None:
    values = drift_values(1, [Phase("uniform", 1000, ("a1",), (), 0.8)], 0, 1000)[0]
    refuted = np.ones(1000, dtype=bool)
    for text in q1_queries(1, 512, common=("a1",)).values():
        op, constant = re.findall(r"a1 (<=?) (\d+)", text)[0]
        refuted &= values >= int(constant) if op == "<" else values > int(constant)
    assert 0.75 < refuted.mean() < 0.9


def test_the_shipped_file_holds_the_generated_queries() -> None:
    workload = load_workload(shipped_workloads()["drift"])
    assert {q.name: q.text for q in workload.queries} == q1_queries(2)
    assert workload.streams[0].schema == DRIFT_SCHEMA


def test_most_tuples_match_nothing_in_every_phase() -> None:
    workload = load_workload(shipped_workloads()["drift"])
    phases = phases_from_json(workload.streams[0].source.options["phases"])
    start = 0
    for phase in phases:
        values = drift_values(7, phases, start, 4000)
        matched = np.zeros(4000, dtype=bool)
        for query in workload.queries:
            matched |= _selected(query.text, values)
        assert 0.15 < matched.mean() < 0.36, phase
        start += phase.n_tuples


def _selected(text: str, values: NDArray[np.int32]) -> NDArray[np.bool_]:
    compare = {
        "=": np.equal,
        "<>": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
    kept = np.ones(values.shape[1], dtype=bool)
    for number, op, constant in re.findall(r"a(\d+) (\S+) (\d+)", text):
        kept &= compare[op](values[int(number) - 1], int(constant))
    return kept
