"""What constraints bid for memory, and why tuples are kept."""

from __future__ import annotations

from dashboard.systems.kmon.bids_view import build_bids
from dashboard.systems.kmon.kept_view import build_kept
from storage.tables.rows import StoredMatrix
from storage.vocabulary.records import Matrix
from tests.unit.dashboard_pages.test_kmon_views import BOOK, NAN


class TestBids:
    def test_those_that_save_most_beyond_their_cost_come_first(self) -> None:
        own: dict[str, dict[str, float | None]] = {
            "join": {"held_bytes": 2048, "plain_bytes": 8192, "time_weight": 0.25},
            "k:CA B.flow": {"k_state": 1, "k_worth_bytes": 4000, "k_cost_bytes": 1000},
            "k:RIDS B → C": {"k_state": 0, "k_worth_bytes": 100, "k_cost_bytes": 0},
            "k:OAC C.seq": {"k_state": 3, "k_worth_bytes": NAN, "k_cost_bytes": None},
        }
        (join,) = build_bids(BOOK, own)
        assert (join.title, join.held, join.plain, join.time) == ("B ⋈ C", 2048, 8192, 0.25)
        assert [(one.name, one.state, one.ratio) for one in join.bids] == [
            ("CA B.flow", "used", 4),
            ("RIDS B → C", "watched", None),
        ]


class TestKept:
    def test_those_that_wait_come_first_and_what_is_alike_is_said_once(self) -> None:
        rows = ("B 1", "B 7", "C 2", "C 3")
        stats = {
            "synopsis": ["s:B", "s:B", "s:C", "s:C"],
            "state": ["spilled", "spilled", "unknown", "yes"],
            "constraint": ["", "", "k:RIDS B → C", ""],
            "why": ["it lies on disk", "it lies on disk", "it waits", "it may be joined"],
        }
        columns = ("number", "since_ticks", "waited", "goes_at")
        cells = [[1, 5, None, None], [7, 9, None, None], [2, 6, 30, 120], [3, 7, 200, 120]]
        kept = Matrix("k kept", "k kept", rows, columns, cells, row_stats=stats)
        lines = build_kept(BOOK, [StoredMatrix(7, 0.0, kept)])
        assert [(one.name, one.state) for one in lines] == [
            ("C 2", "unknown"),
            ("C 3", "yes"),
            ("B 1", "spilled"),
        ]
        assert (lines[0].called, lines[0].share, lines[0].since) == ("RIDS B → C", 0.25, 6)
        assert [one.share for one in lines] == [0.25, 1.0, None]
