"""Windows that shed as introspection shows them: sizes, accuracy, receipts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from backend.adaptive.stats import Mean
from backend.operators.network.shedding.curve import AccuracyCurve
from backend.operators.network.shedding.temporal import Values
from backend.operators.network.temporal.shed_tuning import ShedProfile
from backend.systems.cals.window import AdaptedWindow
from backend.systems.publishing import Values as Numbers
from backend.systems.publishing import samples_of
from storage.vocabulary.cals import CURVE_COLUMNS, RACE_COLUMNS, RECEIPT_COLUMNS
from storage.vocabulary.records import Json, Matrix, Sample

#: Of a value group: tuples shed that would still be in the window, the loss of accuracy they are
#: charged with, and the pieces of its runs, also those that are not told.
GROUP_COLUMNS: Final = ("shed", "loss", "pieces")
#: Of a piece of a run: the run as it would be, and what is left of it.
RUN_COLUMNS: Final = ("start", "end", "kept_start", "kept_end")


def window_samples(node: str, window: AdaptedWindow) -> Sequence[Sample]:
    """Of a batch."""
    profile, n_window = window.profile, window.profile.n_window
    ratio = profile.n_resident / n_window if n_window else None
    ratio = 1.0 if profile.is_whole else ratio
    whole = {window.by_rows: profile.whole_from}
    values: Numbers = {
        "resident_tuples": (profile.n_resident, "tuples"),
        "limited_tuples": (window.held_bytes / window.pool.row_bytes, "tuples"),
        "limit_tuples": (window.options.memory_tuples, "tuples"),
        "shed_tuples": (profile.n_dropped, "tuples"),
        "shed_total": (window.n_shed, "tuples"),
        "sheddings_total": (window.n_begun, "number"),
        "shed_ends_total": (window.n_ended, "number"),
        "memory_ratio": (ratio, "prob"),
        "shed_share": (None if ratio is None else 1 - ratio, "prob"),
        "tuples_bytes": (profile.tuple_bytes, "bytes"),
        "expected_accuracy": (profile.expected, "prob"),
        "whole_from_tick": (whole.get(False), "ticks"),
        "whole_from_tuples": (whole.get(True), "tuples"),
    }
    return samples_of(node, {**values, **_of_form(profile), **_compared(profile)})


def _of_form(profile: ShedProfile) -> Numbers:
    """Of runs, or of a sample."""
    if profile.inclusion is not None:
        return {"inclusion_prob": (profile.inclusion, "prob")}
    return {
        "kept_runs": (profile.n_runs, "tuples"),
        "runs_bytes": (profile.run_bytes, "bytes"),
        "audit_bytes": (profile.audit_bytes, "bytes"),
    }


def _compared(profile: ShedProfile) -> Numbers:
    """What was measured; nothing where nothing was compared."""
    measured, remainder, parts = profile.measured, profile.remainder, profile.parts
    if measured is None or remainder is None:
        return {}
    return {
        **_mean(measured.accuracy, "measured_accuracy", "accuracy_low", "accuracy_high"),
        "value_similarity": (parts.value_similarity, "prob"),
        "interval_similarity": (parts.interval_similarity, "prob"),
        "audited_groups": (measured.n_groups, "number"),
        "unchanged_coalesced": (parts.unchanged, "tuples"),
        "lost_coalesced": (parts.lost, "tuples"),
        "shortened_coalesced": (parts.shortened, "tuples"),
        "split_coalesced": (parts.split, "tuples"),
        "stray_coalesced": (parts.stray, "tuples"),
        "extraneous_coalesced": (parts.extraneous, "tuples"),
        **_mean(remainder, "accuracy_remainder", "remainder_low", "remainder_high"),
    }


def _mean(mean: Mean, *names: str) -> Numbers:
    """A share, and its interval, by their names."""
    numbers = (mean.value, mean.low, mean.high)
    return {name: (number, "prob") for name, number in zip(names, numbers, strict=True)}


def shed_matrices(node: str, window: AdaptedWindow) -> list[Matrix]:
    """Of a batch: some of the tuples that were shed, and of which values the window lacks most, if
    there are any; its curve, if that is new."""
    groups, curve = window.profile.groups, window.profile.curve
    return [
        *([_receipts(node, window)] if window.profile.receipts else []),
        *([_groups(node, window), _runs(node, window)] if groups else []),
        *(_looks(node, window, curve) if curve is not None and curve.is_new else []),
    ]


def _receipts(node: str, window: AdaptedWindow) -> Matrix:
    receipts = window.profile.receipts
    values = [
        [
            receipt.dropped.start,
            receipt.dropped.end,
            receipt.before.start,
            receipt.before.end,
            sum(span.length for span in receipt.after),
            len(receipt.after),
            receipt.delta,
            receipt.rho,
            receipt.predicted_loss,
        ]
        for receipt in receipts
    ]
    rows = tuple(str(receipt.dropped.number) for receipt in receipts)
    stats = {
        "reason": [receipt.reason for receipt in receipts],
        "value": [_words(receipt.dropped.values) for receipt in receipts],
    }
    return _matrix("shed receipts", node, window, rows, RECEIPT_COLUMNS, values, stats)


def _groups(node: str, window: AdaptedWindow) -> Matrix:
    groups = window.profile.groups
    rows = tuple(_words(group.values) for group in groups)
    values = [[group.n_shed, group.loss, group.n_pieces] for group in groups]
    return _matrix("shed groups", node, window, rows, GROUP_COLUMNS, values)


def _runs(node: str, window: AdaptedWindow) -> Matrix:
    pieces = [
        (_words(group.values), piece) for group in window.profile.groups for piece in group.pieces
    ]
    rows = tuple(str(place) for place in range(len(pieces)))
    stats = {"value": [value for value, _ in pieces]}
    return _matrix(
        "shed runs", node, window, rows, RUN_COLUMNS, [list(own) for _, own in pieces], stats
    )


def _looks(node: str, window: AdaptedWindow, curve: AccuracyCurve) -> Iterator[Matrix]:
    """The curve, and the race of the algorithms, if there is one."""
    yield _curve(node, window, curve)
    race = window.profile.race
    if race:
        rows = tuple(raced.algorithm for raced in race)
        values = [[raced.accuracy, raced.half, raced.gain, raced.gain_half] for raced in race]
        stats = {
            "in_force": [raced.algorithm == window.options.shed_algorithm for raced in race],
            "n": [raced.n for raced in race],
        }
        yield _matrix("race of the algorithms", node, window, rows, RACE_COLUMNS, values, stats)


def _curve(node: str, window: AdaptedWindow, curve: AccuracyCurve) -> Matrix:
    pool, words = window.pool, [_words(values) for values in curve.values]
    values = [
        [
            round(point.tuples, 1),
            round(pool.rows(point.tuples) / pool.n_shards, 1),
            round(round(point.tuples) * pool.kept_bytes),
            round(point.accuracy, 4),
            None if point.at_once is None else round(point.at_once, 4),
        ]
        for point in curve.points
    ]
    rows = tuple(str(place) for place in range(len(values)))
    going = [
        [[word, round(n)] for word, n in zip(words, point.going, strict=False) if n >= 0.5]
        for point in curve.points
    ]
    n = len(rows)
    stats = {"going": going, "looked": [curve.n_looked] * n, "shards": [pool.n_shards] * n}
    return _matrix("accuracy by memory", node, window, rows, CURVE_COLUMNS, values, stats)


def _words(values: Values) -> str:
    return ", ".join(map(str, values))


def _matrix(
    kind: str,
    node: str,
    window: AdaptedWindow,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    values: Sequence[Sequence[float | None]],
    stats: Mapping[str, Json] | None = None,
) -> Matrix:
    name = f"{kind} of {node}"
    return Matrix(
        name, kind, rows, columns, list(values), window.time_unit, len(rows), dict(stats or {})
    )
