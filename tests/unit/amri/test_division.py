"""Bits of several states together, against all divisions of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.systems.amri.division import bit_margins, cost_curve, divide_bits, divided_bits
from backend.systems.amri.selection import SelectionSettings
from tests.oracles import amri_selection as twin
from tests.unit.amri.cases import as_load, as_model, exact_loads

CURVES = st.lists(
    st.lists(st.integers(0, 30), min_size=1, max_size=5), min_size=1, max_size=4
)  # fmt: skip


@given(CURVES, st.integers(0, 10))
def test_bits_are_divided_as_the_best_of_all_divisions(
    curves: list[list[int]], budget: int
) -> None:
    division = divide_bits(curves, budget)
    assert division.bits == twin.divided(curves, budget)
    assert division.cost == sum(c[b] for c, b in zip(curves, division.bits, strict=True))
    margins = bit_margins(curves, division.bits)
    for curve, bits, gain, loss in zip(curves, division.bits, *margins, strict=True):
        assert gain == (curve[bits] - curve[bits + 1] if bits + 1 < len(curve) else 0)
        assert loss == (curve[bits - 1] - curve[bits] if bits else 0)


@given(st.lists(exact_loads(3), min_size=2, max_size=3), st.integers(0, 5), st.data())
def test_a_shared_budget_is_never_dearer_than_equal_shares(
    cases: list[tuple[int, twin.Load]], bits: int, data: st.DataObject
) -> None:
    priced = [(as_load(n, exact), as_model(exact, bits)) for n, exact in cases]
    curves = [cost_curve(load, model, SelectionSettings(bits)) for load, model in priced]
    for curve, (n, exact) in zip(curves, cases, strict=True):
        best = [twin.best(exact, n, b, True) for b in range(bits + 1)]
        assert curve.costs == pytest.approx([float(twin.cost(exact, of)) for of in best])
        assert list(curve.bits) == best
    share = bits // len(cases)
    shared = divide_bits([curve.costs for curve in curves], bits)
    assert shared.cost <= sum(curve.costs[share] for curve in curves) + 1e-9
    assert sum(shared.bits) <= bits
    min_gain = data.draw(st.sampled_from([0.0, 0.2]))
    divided = divided_bits(priced, [share] * len(cases), share * len(cases), min_gain)
    now = sum(curve.costs[share] for curve in curves)
    best_cost = divide_bits([curve.costs for curve in curves], share * len(cases)).cost
    assert divided.sides.lhs == pytest.approx(now - best_cost)
    assert divided.sides.rhs == pytest.approx(min_gain * now)
    if divided.sides.holds:
        assert divided.new != divided.old
    for curve, budget, taken in zip(curves, divided.new, divided.bits, strict=True):
        assert taken == curve.bits[budget]


def test_of_equal_divisions_fewer_bits_win_then_the_larger_vector() -> None:
    assert divide_bits([[4, 2], [4, 4, 0], [4, 2]], 2).bits == (1, 0, 1)
