"""Plans made up for the layout of the plan graph."""

from __future__ import annotations

import random
from typing import Any


def edge(source: str, target: str, queue: bool = True) -> dict[str, str]:
    own = {"source": source, "target": target}
    return {**own, "queue": f"{source}-{target}"} if queue else own


def random_plan(rng: random.Random) -> dict[str, Any]:
    names = [f"n{place}" for place in range(rng.randint(3, 16))]
    nodes = [{"id": name, "role": "operator"} for name in names]
    edges = []
    for place, name in enumerate(names[1:], 1):
        for source in rng.sample(names[:place], min(place, rng.randint(1, 3))):
            edges.append(edge(source, name))
    for place in range(rng.randint(0, 4)):
        state = {"id": f"state{place}", "role": rng.choice(["synopsis", "store"])}
        nodes.append(state)
        for reader in rng.sample(names, rng.randint(1, 2)):
            edges.append(edge(str(state["id"]), reader, False))
    rng.shuffle(nodes)
    return {"nodes": nodes, "edges": edges}


def network(n_queries: int, rng: random.Random) -> dict[str, Any]:
    """Queries over three streams: windows that some share, state, joins, an output each."""
    nodes = [
        {"id": f"s{n}", "role": "source", "name": f"S{n}", "sign": "", "kind": "source"}
        for n in range(3)
    ]
    edges: list[dict[str, Any]] = []

    def add(role: str, name: str, *inputs: str) -> str:
        nodes.append({"id": f"{role}{len(nodes)}", "role": role, "name": name, "sign": "x"})
        id = str(nodes[-1]["id"])
        edges.extend(edge(source, id) for source in inputs)
        return id

    for n in range(3):
        add("operator", f"S{n}", f"s{n}")
    inputs = [str(node["id"]) for node in nodes[3:]]
    windows = [add("operator", f"[Range {n} h]", rng.choice(inputs)) for n in range(n_queries // 2)]
    for window in windows:
        edges.append(edge(add("synopsis", "the window"), window, False))
    for query in range(n_queries):
        last = windows[query % len(windows)]
        if query % 5 == 0:
            last = add("operator", "a join of two", last, rng.choice(windows))
            edges.append(edge(add("synopsis", "its tuples"), last, False))
        for step in range(rng.randint(1, 3)):
            last = add("operator", f"delay > {step}", last)
        add("output", f"query_{query}", last)
    return {"nodes": nodes, "edges": edges, "skips": []}
