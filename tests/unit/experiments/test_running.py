"""Compiled runs of the experiments against the Python that defines them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from backend.systems.asc.lattice import extreme_order, survivors
from backend.systems.asc.matching import trace
from backend.systems.asc.orderings import Ordering
from bench.experiments.queries import Q1, QueryShape, described, ones_std, query_set
from bench.experiments.running import KernelExecutor, compare, extremes
from bench.experiments.streams import bell, pulse, regions_of, uniform
from bench.simulate import Scenario, Simulation

STREAM = bell(3, 1500)
CONSTRUCTS = query_set(QueryShape(20, 60, 5), 3, STREAM)
REGIONS = regions_of(STREAM, CONSTRUCTS)
SCENARIO = Scenario("macro", 50, 400, trigger="dropping ratio", interval_tuples=400)


def test_regions_are_those_of_the_constructs() -> None:
    (values, _), *_ = STREAM.columns(CONSTRUCTS.attributes, 0, 1500)
    first = CONSTRUCTS.constructs[CONSTRUCTS.attributes[0]]
    assert REGIONS[:, 0].tolist() == first.regions_of(values).tolist()


@pytest.mark.parametrize("scheme", ["macro", "hybrid", "macssas", "ticket"])
def test_the_compiled_executor_counts_as_the_reference(scheme: Ordering) -> None:
    scenario = replace(SCENARIO, strategy=scheme)
    expected = Simulation(CONSTRUCTS, scenario).feed(REGIONS.astype(np.intp)).result
    executor = KernelExecutor(scenario.seed)
    found = Simulation(CONSTRUCTS, scenario, executor).feed(REGIONS.astype(np.intp)).result
    assert found == expected
    if scheme == "hybrid":
        assert found.micro_ratio() is not None


def test_extremes_are_those_of_the_lattice() -> None:
    found = extremes(CONSTRUCTS, REGIONS)
    wide = REGIONS.astype(np.intp)
    best = extreme_order(CONSTRUCTS, wide, "drop")
    worst = extreme_order(CONSTRUCTS, wide, "drop", worst=True)
    assert found.best == pytest.approx(best.cost)
    assert found.worst == pytest.approx(worst.cost)
    assert found.best == trace(CONSTRUCTS, wide, found.best_order, "drop").visits.mean()
    assert survivors(CONSTRUCTS, wide, "drop")[0, 0] == len(REGIONS)


def test_a_query_set_has_the_published_characteristics() -> None:
    constructs = query_set(Q1, 1, uniform(1, 10))
    assert len(constructs.names) == Q1.n_queries
    assert sum(len(constructs.uses(name)) for name in constructs.names) == Q1.n_predicates
    text = described(Q1, constructs)
    assert text.startswith("50 queries, 204 predicates, 10 p-attributes; minimum covers: ")
    leaning = [ones_std(query_set(Q1._replace(lean=x), 1, uniform(1, 10))) for x in (0.5, 1.0)]
    assert leaning[0] < leaning[1]
    with pytest.raises(ValueError, match="do not reach"):
        query_set(QueryShape(2, 2, 9), 1, uniform(1, 10))


def test_the_pulse_changes_in_the_middle() -> None:
    ((values, _),) = pulse(1, 4000).columns(["a7"], 0, 4000)
    assert values[:2000].mean() < 35 < 65 < values[2000:].mean()


def test_compared_schemes_share_what_is_counted() -> None:
    found = compare(CONSTRUCTS, REGIONS, ["macro", "ticket"], SCENARIO, lambda n: None)
    assert (found.since, found.n_counted) == (400, 1100)
    assert found.relative("best") == 1
    assert 1 <= found.relative("macro") < found.relative("worst")
    assert found.unmatched_prob == found.runs["ticket"].dropping_ratio(400)
