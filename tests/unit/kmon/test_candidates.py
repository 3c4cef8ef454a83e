"""Which constraints a join can have, what they are called, and which a declaration means."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from backend.model.conditions import DeclaredConstraint
from backend.operators.network.kinds.kmon import JoinEdge
from backend.operators.network.kmon.tuning import KMonTuning
from backend.systems.contract import Refusal
from backend.systems.kmon.candidates import ConstrainedJoin
from backend.systems.kmon.core import KMON
from tests.unit.kmon.cases import (
    GRAPH_A,
    INTS,
    ONE_ONE,
    PAIR,
    TWO_ROOTS,
    Columns,
    plan_of,
    view_of,
    work_of,
)


def names(edges: Sequence[JoinEdge], columns: Columns = INTS) -> list[str]:
    return [one.name for one in view_of(edges, columns).candidates.values()]


def test_every_join_and_every_join_attribute_has_its_constraints() -> None:
    assert names(GRAPH_A) == [
        "RIDS S1 → S2", "RIDS S1 → S3",
        "CA S1.A", "OAP S1.A", "OAC S2.A", "CA S1.B", "OAP S1.B", "OAC S3.B",
    ]  # fmt: skip


def test_children_wait_for_parents_as_well_where_a_join_is_one_one() -> None:
    assert names(ONE_ONE)[:2] == ["RIDS S1 → S2", "RIDS S2 → S1"]


def test_an_attribute_that_two_parents_join_is_one_constraint_of_the_child() -> None:
    candidates = view_of(TWO_ROOTS).candidates
    assert [key for key in candidates if key.startswith("OAC")] == ["OAC 2.0"]
    assert candidates["OAC 2.0"].edges == (0, 1)


def test_what_has_no_order_cannot_arrive_in_order() -> None:
    columns = ([("A", "string")], [("A", "string")])
    assert names(PAIR, columns=columns) == ["RIDS S1 → S2", "CA S1.A"]


def test_inputs_that_read_one_stream_are_numbered() -> None:
    view = ConstrainedJoin.of(plan_of(work_of(PAIR, names=("S", "S"))), "join1")
    assert view.names == ("S 1", "S 2")
    of_both = DeclaredConstraint("OAC", 5, child="S", attribute="A")
    assert view.declared([of_both]) == {"OAC 1.0": 5}


@pytest.mark.parametrize(
    ("declared", "keys"),
    [
        (DeclaredConstraint("RIDS", 5, "s1", "S2"), ["RIDS 0 1"]),
        (DeclaredConstraint("CA", 5, parent="S1", attribute="b"), ["CA 0.1"]),
        (DeclaredConstraint("OAC", 5, child="S3", attribute="B"), ["OAC 2.0"]),
        (DeclaredConstraint("OAC", 5, parent="S3", attribute="B"), ["OAC 2.0"]),
    ],
)
def test_a_declaration_is_of_a_constraint_by_its_names(
    declared: DeclaredConstraint, keys: list[str]
) -> None:
    assert view_of(GRAPH_A).declared([declared]) == dict.fromkeys(keys, 5)


def test_of_two_declared_k_the_larger_one_holds_for_sure() -> None:
    both = [DeclaredConstraint("RIDS", k, "S1", "S2") for k in (9, 3)]
    assert view_of(PAIR).declared(both) == {"RIDS 0 1": 9}


def test_the_core_claims_joins_along_keys_and_says_what_is_missing_else() -> None:
    assert KMON.claims(plan_of(work_of(PAIR), work_of(GRAPH_A))) == frozenset({"join1", "join2"})
    refusal = KMON.claims(plan_of())
    assert isinstance(refusal, Refusal)
    assert "no k-constraint" in refusal.reason


def test_rehearsals_use_every_constraint_both_losses_and_both_estimators() -> None:
    found = [one["join1"] for one in KMON.rehearsals(plan_of(work_of(GRAPH_A)))]
    tunings = [one for one in found if isinstance(one, KMonTuning)]
    assert [len(one.constraints) for one in tunings] == [8, 8, 8]
    assert {one.loss for one in tunings} == {"never", "budget"}
    assert {one.estimator for one in tunings} == {"censored", "literal"}
