"""What each window sheds at a moment and how accurate its answers are; records to lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.systems.cals.history import WINDOW
from dashboard.views.book import Book
from dashboard.views.numbers import known
from storage.tables.rows import StoredMatrix
from storage.vocabulary.records import Entity, Knob

Values = Mapping[str, Mapping[str, float | None]]

#: What became of exact coalesced tuples -> its property.
FATES: Final = {
    "unchanged": "unchanged_coalesced",
    "shortened": "shortened_coalesced",
    "split": "split_coalesced",
    "lost": "lost_coalesced",
}
#: Expected accuracy that is further from the interval of the measured one is pointed at.
APART: Final = 0.05
#: By what a sample is chosen.
CHANCE: Final = "chance"
#: Reasons of receipts, in words.
REASONS: Final = {
    "limit": "more came than there is room for",
    "turned": "the limit was lowered",
}


class WindowShed(NamedTuple):
    """A window. title: its queries; algorithm: that chooses what goes; limit: tuples it may keep, 0
    = all. resident: tuples in memory; whole: that it would hold, None = not known; shed, total:
    tuples shed in the batch and since the run began; kept, share: of the window in memory, and
    shed. expected, measured: accuracy; low, high: the 95 % interval of the measured one, of so many
    value groups. apart: by how much the expected accuracy is outside of the interval of the one
    that was measured, both R1, whatever the metric in force. fates: of FATES -> exact coalesced
    tuples, none where nothing was compared; stray: pieces whose exact tuple is not in the answer.
    reasons: of the newest receipts. inclusion: of a window that keeps a sample, the probability
    with which the next tuple is kept. whole_tick, whole_tuples: from when on it is whole again if
    nothing more is shed, one of the two where it is not. tick_us: where ticks are times. as_runs:
    the limit is of the bytes of so many tuples, which are kept as so many runs. held: tuples, as
    the limit counts them."""

    id: str
    name: str
    title: str
    algorithm: str
    limit: float
    resident: float
    whole: float | None
    shed: float
    total: float
    kept: float | None
    share: float | None
    expected: float | None
    measured: float | None
    low: float | None
    high: float | None
    groups: float | None
    apart: float
    fates: Mapping[str, float]
    stray: float
    reasons: tuple[str, ...]
    inclusion: float | None = None
    whole_tick: float | None = None
    tick_us: float | None = None
    whole_tuples: float | None = None
    as_runs: bool = False
    runs: float = 0.0
    held: float = 0.0

    @property
    def is_compressed(self) -> bool:
        """As runs it is whole within a limit, and was all the time."""
        has_limit = self.as_runs and self.limit > 0
        return has_limit and self.is_exact and not self.total and self.runs < self.resident

    @property
    def is_exact(self) -> bool:
        """Nothing that was shed would still be in it."""
        return not self.shed and self.share == 0


def build_windows(
    book: Book,
    values: Values,
    receipts: Mapping[str, StoredMatrix],
    knobs: Mapping[str, Knob],
    tick_us: float | None = None,
) -> list[WindowShed]:
    """Those that have numbers, by queries. receipts: the newest of windows. tick_us: where ticks
    are times."""
    windows = [
        _window(entity, book, values[entity.id], _reasons(receipts.get(entity.id)), knobs)
        for entity in book.of(WINDOW)
        if entity.id in values
    ]
    windows = [window._replace(tick_us=tick_us) for window in windows]
    return sorted(windows, key=lambda window: (window.title, window.name))


def _reasons(stored: StoredMatrix | None) -> tuple[str, ...]:
    reasons = () if stored is None else stored.matrix.row_stats.get("reason", ())
    return tuple(sorted(set(reasons)))


def _window(
    entity: Entity,
    book: Book,
    own: Mapping[str, float | None],
    reasons: Sequence[str],
    knobs: Mapping[str, Knob],
) -> WindowShed:
    def number(name: str) -> float | None:
        return own[name] if known(own.get(name)) else None

    resident, kept = number("resident_tuples") or 0.0, number("memory_ratio")
    low, high = number("remainder_low") or 0.0, number("remainder_high") or 0.0
    return WindowShed(
        id=entity.id,
        name=entity.name,
        title=book.title(entity.id),
        algorithm=_algorithm(own, knobs),
        limit=_limit(own, knobs),
        resident=resident,
        whole=round(resident / kept) if kept else None,
        shed=number("shed_tuples") or 0.0,
        total=number("shed_total") or 0.0,
        kept=kept,
        share=number("shed_share"),
        expected=number("expected_accuracy"),
        measured=number("measured_accuracy"),
        low=number("accuracy_low"),
        high=number("accuracy_high"),
        groups=number("audited_groups"),
        apart=max(0.0, low, -high),
        fates=_fates(own),
        stray=number("stray_coalesced") or 0.0,
        reasons=tuple(reasons),
        inclusion=number("inclusion_prob"),
        whole_tick=number("whole_from_tick"),
        whole_tuples=number("whole_from_tuples"),
        as_runs=_as_runs(own, knobs),
        runs=number("kept_runs") or 0.0,
        held=number("limited_tuples") or resident,
    )


def _fates(own: Mapping[str, float | None]) -> dict[str, float]:
    """None where nothing was compared."""
    if not known(own.get("measured_accuracy")):
        return {}
    counts = {fate: own[name] or 0.0 for fate, name in FATES.items() if name in own}
    return {fate: count if known(count) else 0.0 for fate, count in counts.items()}


def _limit(own: Mapping[str, float | None], knobs: Mapping[str, Knob]) -> float:
    """Tuples; what was asked for, where it is not known what is in force."""
    limit = own.get("limit_tuples")
    if limit is not None and known(limit):
        return limit
    return float(knobs["memory_tuples"].value) if "memory_tuples" in knobs else 0.0


def _as_runs(own: Mapping[str, float | None], knobs: Mapping[str, Knob]) -> bool:
    """Whether a limit is of bytes; that of a sample is not."""
    form = knobs.get("state_form")
    return form is not None and form.value == "runs" and not known(own.get("inclusion_prob"))


def _algorithm(own: Mapping[str, float | None], knobs: Mapping[str, Knob]) -> str:
    if known(own.get("inclusion_prob")):
        return CHANCE
    knob = knobs.get("shed_algorithm")
    return "" if knob is None else str(knob.value)
