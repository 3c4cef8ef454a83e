"""The slow twin of k-Mon does what the thesis works out by hand. [B05] Examples 6.3.1 to 6.10.2"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pytest

from tests.oracles.k_mon import (
    Constraint,
    JoinEdge,
    JoinedStream,
    Kept,
    KMon,
    clustering_distance,
    clustering_distances,
    estimates,
    join_distance,
    scrambling_distance,
    scrambling_distances,
)

S1_S3 = JoinEdge("S1", "S3", (("B", "B"),))
GRAPH_A = (JoinEdge("S1", "S2", (("A", "A"),)), S1_S3)
GRAPH_B = (JoinEdge("S1", "S2", (("B", "B"),)), JoinEdge("S2", "S3", (("C", "C"),)))
NAMES = {"a": ("AB", "AC", "BD"), "b": ("AB", "BC", "CD")}


def graph_a(*constraints: Constraint, s3: Sequence[int] = (5, 7, 10)) -> KMon:
    """Graph (a) with the state the examples begin with: No3 has what D < 8 fails."""
    streams = (JoinedStream("S1"), JoinedStream("S2"), JoinedStream("S3", lambda v: v["D"] < 8))
    mon = KMon(streams, GRAPH_A, constraints)
    for row in ((6, 20), (4, 15)):
        feed(mon, "a", 2, row)
    rest = {5: 3, 7: 9, 10: 12}
    for key in s3:
        feed(mon, "a", 3, (key, rest[key]))
    return mon


def graph_b(rows: int | None = None, keeps_no: bool = True) -> KMon:
    streams = (
        JoinedStream("S1"),
        JoinedStream("S2"),
        JoinedStream("S3", lambda v: v["D"] > 10, rows=rows),
    )
    return KMon(streams, GRAPH_B, keeps_no=keeps_no)


def feed(mon: KMon, graph: str, stream: int, row: Sequence[Any], tau: int = 0) -> None:
    names = NAMES[graph][stream - 1]
    mon.arrive(f"S{stream}", dict(zip(names, row, strict=True)), tau)


def rows(kept: Iterable[Kept]) -> list[tuple[Any, ...]]:
    return [tuple(one.values.values()) for one in kept]


def shown(results: Iterable[tuple[Kept, ...]]) -> list[tuple[Any, ...]]:
    """The values of results by attribute, A to D."""
    merged = ({k: v for kept in result for k, v in kept.values.items()} for result in results)
    return [tuple(one[name] for name in "ABCD") for one in merged]


def test_a_no_child_wins_over_a_missing_one() -> None:
    mon = graph_a()
    feed(mon, "a", 1, (6, 5))
    feed(mon, "a", 1, (8, 10))
    assert shown(mon.emitted) == [(6, 5, 20, 3)]
    assert not mon.held["S1"]["unknown"]


def test_unknown_tuples_wait_for_their_children() -> None:
    mon = graph_b()
    feed(mon, "b", 2, (2, 4))
    feed(mon, "b", 1, (1, 2))
    assert rows(mon.held["S2"]["unknown"] + mon.held["S1"]["unknown"]) == [(2, 4), (1, 2)]
    feed(mon, "b", 3, (4, 12))
    assert shown(mon.emitted) == [(1, 2, 4, 12)]


@pytest.mark.parametrize(("keeps_no", "stored"), [(False, 21), (True, 2)])
def test_no_spares_ancestors_from_waiting(keeps_no: bool, stored: int) -> None:
    mon = graph_b(keeps_no=keeps_no)
    feed(mon, "b", 3, (6, 8))
    feed(mon, "b", 2, (3, 6))
    for x in range(20):
        feed(mon, "b", 1, (x, 3))
    held = [component for one in mon.held.values() for component in one.values()]
    assert sum(map(len, held)) == stored


def test_what_leaves_its_window_takes_results_along() -> None:
    mon = graph_b(rows=1)
    for stream, row in ((1, (1, 2)), (2, (2, 4)), (3, (4, 12))):
        feed(mon, "b", stream, row)
    assert shown(mon.results) == [(1, 2, 4, 12)]
    feed(mon, "b", 3, (9, 11))
    assert not mon.results
    assert not mon.held["S1"]["yes"]
    assert not mon.held["S2"]["yes"]


def test_rids_waits_for_k_children() -> None:
    mon = graph_a(Constraint("RIDS", 1, "S1", "S3"))
    assert not mon.held["S3"]["no"]
    feed(mon, "a", 1, (4, 10))
    assert rows(mon.held["S1"]["unknown"]) == [(4, 10)]
    feed(mon, "a", 3, (11, 1))
    assert not mon.held["S1"]["unknown"]


def test_clustered_arrivals_free_a_child() -> None:
    mon = graph_a(Constraint("CA", 1, parent="S1", attribute="B"))
    for row in ((6, 5), (8, 8), (4, 5)):
        feed(mon, "a", 1, row)
        assert (5, 3) in rows(mon.held["S3"]["yes"])
    feed(mon, "a", 1, (11, 10))
    assert shown(mon.emitted) == [(6, 5, 20, 3), (4, 5, 15, 3)]
    assert rows(mon.held["S1"]["unknown"]) == [(8, 8)]
    assert (5, 3) not in rows(mon.held["S3"]["yes"])


def test_an_ordered_child_ends_waiting_at_once() -> None:
    mon = graph_a(Constraint("OAC", 2, child="S3", attribute="B"), s3=(7, 5, 10))
    feed(mon, "a", 1, (6, 4))
    assert not mon.held["S1"]["unknown"]


@pytest.mark.parametrize(
    ("names", "second", "unknown"),
    [("CA", [(6, 20)], [(6, 8)]), ("OAC", [(6, 20), (4, 15)], []), ("both", [], [])],
)
def test_constraints_together_remove_more_than_each(
    names: str, second: list[tuple[int, int]], unknown: list[tuple[int, int]]
) -> None:
    clustered = Constraint("CA", 0, parent="S1", attribute="A")
    ordered = Constraint("OAC", 0, child="S3", attribute="B")
    chosen = {"CA": (clustered,), "OAC": (ordered,), "both": (clustered, ordered)}[names]
    mon = graph_a(*chosen)
    for row in ((4, 5), (6, 8), (3, 13)):
        feed(mon, "a", 1, row)
    assert rows(mon.held["S2"]["yes"]) == second
    assert [row for row in rows(mon.held["S1"]["unknown"]) if row[0] != 3] == unknown


@pytest.mark.parametrize("waits", [False, True])
def test_rids_may_delay_what_clustering_removes(waits: bool) -> None:
    clustered = Constraint("CA", 0, parent="S1", attribute="B")
    mon = graph_a(clustered, *([Constraint("RIDS", 3, "S1", "S3")] if waits else []))
    for row in ((6, 10), (4, 10), (8, 8)):
        feed(mon, "a", 1, row)
    assert (10, 12) not in rows(mon.held["S3"]["no"])
    tens = [(6, 10), (4, 10)] if waits else []
    assert [row for row in rows(mon.held["S1"]["unknown"]) if row[1] == 10] == tens
    for key in (20, 21, 22):
        feed(mon, "a", 3, (key, 1))
    assert not [row for row in rows(mon.held["S1"]["unknown"]) if row[1] == 10]


@pytest.mark.parametrize(
    ("arrivals", "k"),
    [("P1 C9 C8 C1", 3), ("P1 C9 C8", 0), ("C1 P1", 0), ("P1 C1", 1)],
)
def test_join_distances(arrivals: str, k: int) -> None:
    assert join_distance([(one[0], one[1]) for one in arrivals.split()], "P", "C") == k


@pytest.mark.parametrize(("values", "k"), [((6, 5, 8, 5, 10), 1), ((5, 5, 8, 5, 5), 1), ((), 0)])
def test_clustering_distances(values: tuple[int, ...], k: int) -> None:
    assert clustering_distance(values) == k


@pytest.mark.parametrize(("values", "k"), [((1, 2, 5, 3, 4, 6), 2), ((1, 2, 2, 3), 0)])
def test_scrambling_distances(values: tuple[int, ...], k: int) -> None:
    assert scrambling_distance(values) == k


def test_k_follows_the_order_of_a_stream() -> None:
    values = (1, 2, 5, 3, 4, 6, 7, 9, 8, 10, 11, 12, 10, 13, 14, 15, 16)
    distances = scrambling_distances(values)
    assert distances == [0, 0, 0, 1, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0]
    off, on = [None] * 4, [1] * 4
    assert estimates(distances, 4) == [None, None, None, 1, *off, *on, *off, 0]


def test_k_follows_how_a_stream_is_clustered() -> None:
    distances = clustering_distances((5, 5, 6, 5, 6, 7, 7, 8, 8, 9, 7, 7, 9, 9))
    assert distances == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 3, 3, 2, 2]
    assert estimates(distances, 4)[3:10] == [1, 1, 1, 1, 1, 0, 0]


def test_k_follows_how_late_children_come() -> None:
    assert estimates([1, 1, 1, 0, 2], 3) == [None, None, 1, 1, None]
    assert estimates([1, 1, 1, 0, 0], 3) == [None, None, 1, 1, 1], "the late one was let go"


def joined(arrivals: Sequence[tuple[int, tuple[int, int]]]) -> list[tuple[int, ...]]:
    """The plain join of graph (a), of everything that came."""
    first, second, third = ([row for s, row in arrivals if s == n] for n in (1, 2, 3))
    return sorted(
        (a, b, c, d)
        for (a, b), (a2, c), (b3, d) in product(first, second, third)
        if a == a2 and b == b3 and d < 8
    )


@pytest.mark.parametrize("seed", range(40))
def test_constraints_that_hold_lose_nothing(seed: int) -> None:
    rng = random.Random(seed)
    arrivals = [(1, (rng.randrange(6), rng.randrange(6))) for _ in range(12)]
    arrivals += [(2, (key, 10 + key)) for key in rng.sample(range(6), 5)]
    arrivals += [(3, (key, rng.randrange(12))) for key in rng.sample(range(6), 5)]
    rng.shuffle(arrivals)
    by_b = [("P" if s == 1 else "C", row[1] if s == 1 else row[0]) for s, row in arrivals if s != 2]
    first = [row for s, row in arrivals if s == 1]
    third = [row[0] for s, row in arrivals if s == 3]
    held = [
        Constraint("RIDS", join_distance(by_b, "P", "C"), "S1", "S3"),
        Constraint("CA", clustering_distance([a for a, _ in first]), parent="S1", attribute="A"),
        Constraint("CA", clustering_distance([b for _, b in first]), parent="S1", attribute="B"),
        Constraint("OAP", scrambling_distance([b for _, b in first]), parent="S1", attribute="B"),
        Constraint("OAC", scrambling_distance(third), child="S3", attribute="B"),
    ]
    chosen = [one for one in held if rng.random() < 0.5]
    wrong = [one._replace(k=max(0, one.k - 2)) for one in chosen]
    for constraints, is_right in ((chosen, True), (wrong, False)):
        streams = (JoinedStream("S1"), JoinedStream("S2"), JoinedStream("S3", lambda v: v["D"] < 8))
        mon = KMon(streams, GRAPH_A, constraints)
        for s, row in arrivals:
            feed(mon, "a", s, row)
        found, expected = sorted(shown(mon.emitted)), joined(arrivals)
        if is_right:
            assert found == expected
        else:
            rest = list(expected)
            assert all(one in rest and not rest.remove(one) for one in found)  # type: ignore[func-returns-value]
