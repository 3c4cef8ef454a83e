"""The bench of joins short of memory: results are those of the whole join, most by partners."""

from __future__ import annotations

import numpy as np

from backend.systems.retention.knobs import OFF, RETENTIONS
from bench import retention


def test_rules_keep_results_of_the_whole_join_and_prob_most_of_skewed_keys() -> None:
    kept = retention.measured(retention.SMALL, retention.ALIKE)
    assert [*kept] == list(RETENTIONS)
    n = {rule: len(own.results) for rule, own in kept.items()}
    assert n["rand"] < n["prob"] < n[OFF]
    assert n["rand"] < n["life"] < n[OFF]
    assert all(own.mean < 0.6 * kept[OFF].mean for rule, own in kept.items() if rule != OFF)


def test_the_share_of_the_answer_is_what_counts_of_keys_say() -> None:
    """Of rules that know no numbers of tuples."""
    sizes = retention.SMALL._replace(rows=300, batch=30, n_batches=40, n_keys=200)
    kept = retention.measured(sizes, retention.ALIKE)
    for rule in ("universe", "oldest", "prob", "life"):
        own = kept[rule]
        assert abs(own.standing / kept[OFF].standing - own.expected) < 0.1, rule


def test_keys_are_skewed_alike_or_in_opposite_ways() -> None:
    sizes = retention.SMALL._replace(rows=10_000)
    for skew, first in ((retention.ALIKE, 0), (retention.OPPOSITE, sizes.n_keys - 1)):
        one, two = (int(np.bincount(own).argmax()) for own in retention.keys_of(sizes, skew, 1))
        assert (one, two) == (0, first)
