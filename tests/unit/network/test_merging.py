"""Elements of several inputs in order of time, against sorting them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.core.blocks import Block
from backend.operators.network.core.merging import merged_inputs

#: By input the τ and signs of its elements.
INPUTS = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1, -1])), max_size=30).map(sorted),
    min_size=2,
    max_size=5,
)


@given(INPUTS)
def test_elements_are_in_order_of_time_then_of_inputs(inputs: list[list[tuple[int, int]]]) -> None:
    elements = [
        (tau, port, 100 * port + place, sign)
        for port, one in enumerate(inputs)
        for place, (tau, sign) in enumerate(one)
    ]
    blocks = [
        Block(
            np.array([tau for tau, _ in one], np.int64),
            np.array([sign for _, sign in one], np.int8),
            (),
        )
        for one in inputs
    ]
    seqs = [100 * port + np.arange(len(one)) for port, one in enumerate(inputs)]
    came = merged_inputs(blocks, seqs)
    columns = [one.tolist() for one in (came.tau, came.ports, came.seqs, came.signs)]
    assert list(zip(*columns, strict=True)) == sorted(elements)
