"""The elements of several inputs in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from backend.operators.network.core.blocks import Block, Ints, Signs
from backend.operators.selection.bits import kernel


class Came(NamedTuple):
    """n elements in nondecreasing τ, those of one τ by input, each input's in their order. ports:
    int64[n], of which input each is; seqs: int64[n], its number in that one's store; signs:
    int8[n]; tau: int64[n]."""

    ports: Ints
    seqs: Ints
    signs: Signs
    tau: Ints


def merged_inputs(inputs: Sequence[Block], seqs: Sequence[Ints]) -> Came:
    """The elements of all inputs. seqs: their numbers in the inputs' stores."""
    ends = np.cumsum([len(block) for block in inputs])
    heads = np.concatenate([[0], ends[:-1]])
    tau = np.concatenate([block.tau for block in inputs])
    signs = np.concatenate([block.sign for block in inputs])
    ports, numbers = np.empty((2, len(tau)), np.int64)
    merged = Came(ports, numbers, np.empty_like(signs), np.empty_like(tau))
    _merge(tau, signs, np.concatenate(seqs), heads, ends, *merged)
    return merged


@kernel
def _merge(
    tau: Ints,
    signs: Signs,
    seqs: Ints,
    heads: Ints,
    ends: Ints,
    came_ports: Ints,
    came_seqs: Ints,
    came_signs: Signs,
    came_tau: Ints,
) -> None:
    """heads: where each input's elements begin; they go on. The input that is first gives all that
    come before the first of any other."""
    n = 0
    while n < len(tau):
        port = -1
        for k in range(len(ends)):
            if heads[k] < ends[k] and (port < 0 or tau[heads[k]] < tau[heads[port]]):
                port = k
        at, end = heads[port], ends[port]
        limit = tau[end - 1]
        for k in range(len(ends)):
            if k != port and heads[k] < ends[k]:
                limit = min(limit, tau[heads[k]] - (k < port))
        while at < end and tau[at] <= limit:
            came_ports[n] = port
            came_seqs[n] = seqs[at]
            came_signs[n] = signs[at]
            came_tau[n] = tau[at]
            at += 1
            n += 1
        heads[port] = at
