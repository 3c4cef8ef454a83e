"""Results lost by each input of a join that keeps less, beside those counted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.kinds.retention import Keyed, RetainedKey
from backend.operators.network.stores.retaining import RetainProfile
from backend.systems.retention.join import AdaptedRetention, SeenWindow, seen_join
from backend.systems.retention.planning import RetainedJoin
from backend.systems.retention.ranked import adapted_join
from dashboard.base.context import Moment, resolve
from dashboard.panels.contract import PanelScope
from dashboard.systems.retention import losses
from dashboard.systems.retention.losses_view import InputLoss
from tests.engine_runs import RUN_ID
from tests.unit.engine.test_retained_joins import RULES, RetainedRun

#: A tuple of a window: the group of its key, and whether it is kept.
Tuples = Sequence[tuple[int, bool]]
TUPLES = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6)


def adapted(rule: str, profiles: dict[str, RetainProfile]) -> AdaptedRetention:
    """A join that has seen a batch of its windows."""
    keyed = tuple(Keyed(id, 0, False) for id in profiles)
    join = adapted_join(RetainedJoin("j", RetainedKey(0, keyed), keyed), rule)
    windows = {id: SeenWindow(0, 0, profile) for id, profile in profiles.items()}
    join.seen = seen_join(join.seen, windows, windows, {})
    return join


@given(st.lists(TUPLES, min_size=2, max_size=3))
def test_shares_are_those_of_results_counted_one_by_one(windows: list[Tuples]) -> None:
    profiles = {}
    for place, tuples in enumerate(windows):
        whole, sizes = np.zeros((2, N_GROUPS), np.int64)
        np.add.at(whole, [group for group, _ in tuples], 1)
        np.add.at(sizes, [group for group, is_kept in tuples if is_kept], 1)
        profiles[str(place)] = RetainProfile(sizes=sizes, whole=whole)
    join = adapted("prob", profiles)
    results = [each for each in product(*windows) if len({group for group, _ in each}) == 1]
    if not results:
        assert (join.expected_share, join.lost_share("0")) == (None, 0)
        return
    there = [all(is_kept for _, is_kept in each) for each in results]
    assert join.expected_share == pytest.approx(np.mean(there))
    for place in range(len(windows)):
        lacking = [not each[place][1] for each in results]
        assert join.lost_share(str(place)) == pytest.approx(np.mean(lacking))


def test_without_counts_a_sample_says_it_and_else_nobody() -> None:
    missing = {"a": RetainProfile(n_missing=N_GROUPS // 4), "b": RetainProfile()}
    for rule in ("universe", "rand"):
        join = adapted(rule, missing)
        assert (join.lost_share("a"), join.lost_share("b"), join.lost_share("c")) == (0.25, 0, None)
    assert adapted("rand", {"a": RetainProfile(lacks=True)}).lost_share("a") is None


def test_the_page_says_what_each_input_loses_by_which_rule(tmp_path: Path) -> None:
    """Rule after rule, from the store alone, now and as it was."""
    run = RetainedRun(tmp_path / "run", turns=RULES)
    live = []
    for _ in range(18):
        run.step()
        live.append(_built(run, None))
    replayed = [_built(run, batch) for batch in range(18)]
    assert replayed == live
    assert [own[0].rule for own in live[2:]] == [
        *["universe"] * 2, *["prob"] * 3, *["rand"] * 4, *["life"] * 3, *["oldest"] * 2,
        *["off"] * 2,
    ]  # fmt: skip
    for inputs in live[2:]:
        assert {own.title for own in inputs} == {"pairs"}
        assert len({own.node for own in inputs}) == len(inputs) == 2
    for own in live[3]:
        assert (own.lost, own.there) == (0.5, 0.5)
        assert own.results is not None
        assert own.results > 0
    for batch in (6, 12, 15):
        for own in live[batch]:
            assert own.there is not None
            assert own.lost is not None
            assert 0 < own.lost <= 1 - own.there < 1
    words = losses.join_words(live[3])
    assert words.startswith("pairs: 50.0\u2009% of the results are expected to be there. The batch")
    run.close()


def _built(run: RetainedRun, at: int | None) -> list[InputLoss]:
    context = resolve(run.reader, Moment(run=RUN_ID, at=at))
    return losses.build(run.reader, context, PanelScope()) or []
