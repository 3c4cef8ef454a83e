"""select and project, and operators made from their plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from lark import Token

from backend.cql.nodes import Arithmetic, At, Call, Compare, Literal
from backend.model.functions import Function, Functions, Parameter
from backend.operators.network.core.blocks import Block, Column64
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import RelationInput, StreamInput
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp
from backend.operators.network.shards.making import make
from tests.oracles.network_operators import Element
from tests.unit.network.playing import FIELDS, Player, cuts, fields_of, histories

HERE = Token("NAME", "a")
#: a > 0
CONDITION = Compare(HERE, ">", At(HERE, 0, "int"), Literal(HERE, 0))


@given(histories(FIELDS), cuts())
def test_select(history: list[Element], beats: list[tuple[int, int]]) -> None:
    """Of an unknown condition nothing passes; signs stay."""
    player = Player(SelectOp(CONDITION), [FIELDS], FIELDS)
    passed = [e for e in history if e.row[0] is not None and e.row[0] > 0]
    assert player.play([history], beats) == passed
    assert player.made().n_tuples == player.made().n_bytes == 0
    assert player.made().counters() == {}


@given(histories(fields_of("x double, s string")), cuts())
def test_project(history: list[Element], beats: list[tuple[int, int]]) -> None:
    """Equal tuples stay; columns as the plan says."""
    work = ProjectOp((At(HERE, 1, "string"), At(HERE, 0, "double")))
    player = Player(work, [fields_of("x double, s string")], fields_of("s string, y double"))
    turned = [Element((e.row[1], e.row[0]), e.tau, e.sign) for e in history]
    assert player.play([history], beats) == turned


def test_integers_become_floats_where_the_plan_says_so() -> None:
    one = Arithmetic(HERE, "+", At(HERE, 0, "int"), Literal(HERE, 1))
    player = Player(ProjectOp((one,)), [fields_of("a int")], fields_of("y double"))
    found = player.play([[Element((2,), 0, 1), Element((None,), 0, 1)]], [(1, 0)])
    assert [e.row for e in found] == [(3.0,), (None,)]
    assert isinstance(found[0].row[0], float)


def test_registered_functions_are_called() -> None:
    odd = Function("odd", (Parameter("n", "int"),), lambda n: n % 2 == 1)
    call = Call(HERE, "odd", (At(HERE, 0, "int"),), registered=True)
    fields = fields_of("a int")
    player = Player(SelectOp(call), [fields], fields, functions=Functions({"odd": odd}))
    history = [Element((value,), 0, 1) for value in (1, 2, 3)]
    assert player.play([history], [(1, 0)]) == [history[0], history[2]]


def test_the_example_of_a_filter() -> None:
    """Thesis 2.1.1: A > 10 and B < 20 and C > 40, a condition at a time (card A4)."""
    fields = fields_of("A int, B int, C int")
    stream = [(11, 5, 50, 1), (3, 5, 50, 1), (12, 19, 41, 2), (11, 5, 50, 4), (11, 25, 60, 6)]
    history = [Element(row[:3], row[3], 1) for row in stream]
    for left, right in (
        (At(HERE, 0, "int"), Literal(HERE, 10)),
        (Literal(HERE, 20), At(HERE, 1, "int")),
        (At(HERE, 2, "int"), Literal(HERE, 40)),
    ):
        work = SelectOp(Compare(HERE, ">", left, right))
        history = Player(work, [fields], fields).play([history], [(3, 0), (9, 0)])
    assert history == [Element(row[:3], row[3], 1) for row in (stream[0], *stream[2:4])]


def test_tuples_of_a_stream_keep_their_numbers() -> None:
    """Windows of rows above a filter or a projection count by them."""
    fields = fields_of("a int")
    block = Block(np.arange(3), np.ones(3, np.int8), (Column64(np.array([1, 0, 2])),), np.arange(3))
    for work, numbers in (
        (SelectOp(CONDITION), [0, 2]),
        (ProjectOp((At(HERE, 0, "int"),)), [0, 1, 2]),
    ):
        found = Player(work, [fields], fields).made().run([block], 3)
        assert found.seq is not None
        assert found.seq.tolist() == numbers


@pytest.mark.parametrize("work", [StreamInput("S", ()), RelationInput("R", ())])
def test_inputs_are_no_operators(work: StreamInput | RelationInput) -> None:
    planned = PlannedOperator("in", work, (), ())
    regions = MemoryRegions()
    around = Surroundings(NetworkPlan((planned,)), regions, Strings(regions), Clock())
    with pytest.raises(ValueError, match="'in' is an input"):
        make(planned, around)
