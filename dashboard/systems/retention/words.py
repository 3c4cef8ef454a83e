"""What people call what joins that keep less publish and can be turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import CardMark, KnobNeed
from dashboard.views.inspector import QUALITY, STORE
from dashboard.views.unreplayed import BRANCH

WORDS: Final[Mapping[str, str]] = {
    "retention": "Retention of joins",
    "retained_share": "Share of keys kept",
    "retained_bytes": "Limit of a join's windows",
    "retained_queries": "Queries that keep less",
    "key_share": "Share of keys kept",
    "missing_share": "Share of keys not kept",
    "missed_tuples": "Tuples not kept",
    "missed_total": "Tuples not kept so far",
    "lost_share": "Results lost by this input",
    "sample_share": "Share of results that are there",
    "expected_share": "Share of answer, by key counts",
    "result_scale": "Results for each that is there",
    "windows_bytes": "Bytes of its windows",
    "sampled_results": "Results of these keys",
    "estimated_results": "Results of all keys, estimated",
    "estimated_low": "Results of all keys, at least",
    "estimated_high": "Results of all keys, at most",
}
#: Why the record cannot tell what another value of a knob would have done.
UNREPLAYED: Final = dict.fromkeys(
    ("retention", "retained_share", "retained_bytes", "retained_queries"), BRANCH
)
#: On the card of a window, and of a join.
MARKS: Final[Mapping[str, CardMark]] = {
    "retained window": CardMark("missing_share", "✂", "—", "pct"),
    "retained join": CardMark("sample_share", "≈", "—", "pct"),
}
FOLLOWS: Final = ("missing_share", "sample_share")
GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("key_share", "missing_share", "missed_tuples", "missed_total"), STORE),
    "windows_bytes": STORE,
    **dict.fromkeys(
        (
            *("lost_share", "sample_share", "expected_share", "result_scale", "sampled_results"),
            *("estimated_results", "estimated_low", "estimated_high"),
        ),
        QUALITY,
    ),
}
#: What is kept is told by all joins that can keep less.
_KEEPS: Final = frozenset({"universe", "rand", "oldest", "prob", "life"})
_OFF: Final = KnobNeed("joins keep all", "retention", _KEEPS)
#: Without what knobs have no effect.
NEEDS: Final = {
    "retention": KnobNeed("no join could keep less", property="join_selectivity"),
    **dict.fromkeys(("retained_share", "retained_bytes", "retained_queries"), _OFF),
}
