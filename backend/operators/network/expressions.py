"""Stand-in: columns, constants, comparisons with them, sums."""

import numpy as np

from backend.cql import nodes
from backend.operators.network.blocks import Column64
from backend.operators.network.plan import At


def compile_expression(node, fields, strings):  # type: ignore
    """Stand-in."""
    if isinstance(node, At):
        return lambda block: block.columns[node.index]
    if isinstance(node, nodes.Literal):
        return lambda block: Column64(np.full(len(block), node.value))
    left = compile_expression(node.left, fields, strings)
    right = compile_expression(node.right, fields, strings)

    def both(block):  # type: ignore
        one, other = left(block), right(block)
        valid = one.is_valid & other.is_valid
        found = one.values > other.values if node.op == ">" else one.values + other.values
        return Column64(
            np.where(valid, found, 0).astype(np.int64 if node.op == ">" else found.dtype), valid
        )

    return both
