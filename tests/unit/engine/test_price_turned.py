"""Caches of a join and a window that sheds share the memory of a run at a price for accuracy."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.web.market_run import MarketRun

#: Bytes for both, less than the window wants alone; and of a tuple.
POOL, ROW = 65_536, 24


def test_caches_give_way_to_a_window_that_sheds_as_its_accuracy_is_priced(tmp_path: Path) -> None:
    with closing(MarketRun(tmp_path / "store.db", "both").ticks(8)) as run:
        assert run.total("shed", "shed_tuples") == 0
        run.turn("run_pool_bytes", POOL, "")
        run.turn("accuracy_price", 0)
        run.ticks(3)
        kept = run.total("shed", "resident_tuples")
        assert run.total("cache", "granted_bytes") == 20_480
        assert run.total("cache", "used_bytes") > 4096
        assert run.total("shed", "shed_tuples") > 0
        run.turn("accuracy_price", 1e6)
        run.ticks(3)
        assert run.total("cache", "granted_bytes") == run.total("cache", "used_bytes") == 0
        assert kept < run.total("shed", "resident_tuples") <= POOL // ROW
        run.turn("accuracy_price", 0)
        run.ticks(1)
        assert run.total("cache", "granted_bytes") == 20_480
        assert run.total("run pool", "granted_bytes") <= POOL
