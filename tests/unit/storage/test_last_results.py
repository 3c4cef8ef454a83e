"""Which results are kept: at every recent batch the last of each query, and never many more."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from storage.reader import open_reader
from storage.vocabulary.records import ResultTuple
from storage.writer import open_engine_writer
from storage.writing.last_results import RECENT_BATCHES, RESULTS_PER_QUERY, LastResults
from tests.contract.store_builders import begin, record

QUERIES = st.sampled_from([("a",), ("b",), ("a", "b"), ()])
BATCHES = st.lists(st.lists(QUERIES, max_size=45), min_size=1, max_size=30)


def results(queries: list[tuple[str, ...]]) -> list[ResultTuple]:
    return [ResultTuple({"n": place}, names) for place, names in enumerate(queries)]


@given(BATCHES, st.integers(0, 30))
def test_what_was_last_at_a_recent_batch_is_kept(
    batches: list[list[tuple[str, ...]]], restart: int
) -> None:
    kept, ever = LastResults(), defaultdict[str, list[tuple[int, int]]](list)
    rows, links = dict[int, int](), set[tuple[str, int]]()
    for number, queries in enumerate(batches):
        if number == restart:
            kept = LastResults.of_links((query, one, rows[one]) for query, one in links)
        n = kept.n
        for place, names in enumerate(queries, start=n + 1):
            for query in names:
                ever[query].append((place, number))
        turn = kept.add(results(queries), number)
        rows |= {one: number for one, _ in turn.added}
        links = (links | set(turn.links)) - set(turn.lost_links)
        rows = {one: at for one, at in rows.items() if one not in turn.lost}
        assert {one for _, one in links} == set(rows)
        for query, all_of_it in ever.items():
            own = sorted(one for name, one in links if name == query)
            assert len(own) <= RESULTS_PER_QUERY * (RECENT_BATCHES + 1)
            for at in range(max(0, number - RECENT_BATCHES), number + 1):
                last = [one for one, found in all_of_it if found <= at][-RESULTS_PER_QUERY:]
                assert [one for one in own if rows[one] <= at][-RESULTS_PER_QUERY:] == last


def test_who_looks_a_little_behind_a_busy_query_sees_its_last_changes(tmp_path: Path) -> None:
    path = str(tmp_path / "planwatch.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        begin(writer)
        for number in range(40):
            busy = tuple(ResultTuple({"n": number, "i": i}, ("busy",)) for i in range(50))
            writer.write_batch(replace(record(number), results=busy))
        for behind in range(RECENT_BATCHES + 1):
            found = reader.results("r1", "busy", until=39 - behind)
            assert [(row.batch, row.values["i"]) for row in found] == [
                (39 - behind, i) for i in range(49, 29, -1)
            ]
        kept = reader.results("r1", "busy", limit=9999)
        assert len(kept) == RESULTS_PER_QUERY * (RECENT_BATCHES + 1)
