"""Chains as introspection shows them: on the plan, as samples, and as progress charts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from backend.operators.network.core.reports import NetworkReport
from backend.systems.cores import LaidOutNetwork
from backend.systems.publishing import samples_of
from backend.systems.stream.chains.chaining import Chaining
from backend.systems.stream.chains.progress import Paths, progress
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.records import Json, Matrix, Sample


def with_chains(graph: PlanGraph, network: LaidOutNetwork, chaining: Chaining) -> PlanGraph:
    """The plan with the chain of each operator."""
    facts: dict[str, dict[str, Json]] = {
        network.node(id): {"chain": number, "chain_slope": float(f"{slope:.4g}")}
        for id, (slope, number) in chaining.slopes.items()
    }
    nodes = (
        replace(node, properties={**node.properties, **facts[node.id]})
        if node.id in facts
        else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes))


def chain_samples(network: LaidOutNetwork, chaining: Chaining) -> list[Sample]:
    """The chain of each operator."""
    return [
        sample
        for id, (slope, number) in chaining.slopes.items()
        for sample in samples_of(
            network.node(id), {"chain_number": (number, ""), "chain_slope": (slope, "tuples/us")}
        )
    ]


def progress_matrix(network: LaidOutNetwork, steps: Paths, chaining: Chaining) -> Matrix:
    """The progress chart of each path: time spent and what is left behind each operator."""
    rows, values = [], []
    for number, path in enumerate(steps):
        for step, point in zip(path, progress(path)[1:], strict=True):
            slope, chain = chaining.slopes.get(step.id, (None, None))
            rows.append(network.node(step.id))
            values.append([number, point.time, point.size, chain, slope])
    columns = ("path", "time_us", "size", "chain", "chain_slope")
    names = [network.names[step.id] for path in steps for step in path]
    return Matrix(
        name="progress chart",
        kind="progress chart",
        rows=tuple(rows),
        columns=columns,
        values=values,
        row_stats={"name": names},
    )


def mean_waiting(report: NetworkReport) -> float:
    """Elements in all queues, on average over the instants of a batch."""
    return float(sum(np.mean(c.tuples) for c in report.queues.values() if len(c.tuples)))
