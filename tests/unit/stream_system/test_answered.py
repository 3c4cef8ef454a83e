"""Relations as they are recorded: all rows of small ones, by adding up what each batch changed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.core.reports import NetworkReport
from backend.systems.stream import answered
from backend.systems.stream.answered import AnswersSoFar
from storage.tables.columns import dump_json, load_json
from storage.vocabulary.relations import relation_matrix, rows_in
from tests.oracles.relations_kept import rows_kept

Q = "q", 0
#: What comes (True) and goes: of the rows there, by place; and where a batch ends.
MOVES = st.lists(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=9), max_size=20)


def batches(moves: list[list[tuple[bool, int]]]) -> list[list[tuple[tuple[Any, ...], int]]]:
    """Elements of a relation, batch by batch."""
    there: list[tuple[Any, ...]] = []
    found = []
    for batch in moves:
        elements = []
        for comes, number in batch:
            row = (number, f"r{number}", None) if comes or not there else there[number % len(there)]
            sign = 1 if comes or not there else -1
            there.append(row) if sign > 0 else there.remove(row)
            elements.append((row, sign))
        found.append(elements)
    return found


def report(elements: list[tuple[tuple[Any, ...], int]], most: int) -> NetworkReport:
    net: Counter[tuple[Any, ...]] = Counter()
    for row, sign in elements:
        net[row] += sign
    changed = tuple((row, n) for row, n in net.items() if n)
    is_told = sum(abs(n) for _, n in changed) <= most
    return NetworkReport(net={"q": net.total()}, changed={"q": changed if is_told else None})


@given(MOVES, st.integers(1, 12), st.integers(0, 20))
def test_rows_are_those_of_all_elements_also_after_a_kill(
    moves: list[list[tuple[bool, int]]], most: int, killed: int
) -> None:
    kept, elements = AnswersSoFar([Q]), batches(moves)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answered, "MOST_ROWS", most)
        for number, batch in enumerate(elements):
            if number == killed:
                facts = load_json(dump_json(kept.facts()))
                kept = AnswersSoFar([])
                kept.restore(facts, [Q], 99)
            kept.ran(report(batch, 2 * most))
            wanted = rows_kept(elements[: number + 1], most)
            rows = kept._by_start[Q].rows
            assert (None if rows is None else Counter(rows)) == wanted
            told = rows_in(relation_matrix("q", ["a", "b", "c"], rows))
            assert (told is None) == (wanted is None)
            assert told is None or (told[0], dict(told[1])) == (["a", "b", "c"], dict(wanted or {}))


def test_of_a_query_that_an_earlier_run_began_nothing_is_known() -> None:
    kept = AnswersSoFar([])
    kept.restore({}, [Q, ("new", 7)], 7)
    assert (kept.size(Q), kept.size(("new", 7))) == (None, 0)
    kept.ran(NetworkReport(net={"q": 3, "new": 1}, changed={"new": (((1,), 1),)}))
    assert kept.facts() == {"sizes": [["new", 7, 1]], "relations": [["new", 7, [[[1], 1]]]]}
    kept.ran(NetworkReport(net={"new": 2}))  # a stream: no rows are told
    assert kept.facts()["relations"] == []
    kept.restore({"sizes": [["q", 0, 2]]}, [Q], 9)  # as states were before rows were kept
    assert kept._by_start[Q].rows is None
