"""What eddies came to, in words: comparisons beside those of a scan."""

from __future__ import annotations

import numpy as np

from dashboard.components.formats import show
from dashboard.systems.amri.gain import COMPARED, STORED, compared_gain, compared_verdict
from storage.tables.rows import SeriesData


def series(name: str, values: list[float]) -> SeriesData:
    numbers, batches = np.array(values), np.arange(len(values))
    times = batches.astype(np.float64)
    ends = numbers, numbers
    return SeriesData("s:S", name, "tuples", batches, times, numbers, *ends, batches, False)


def test_the_headline_is_of_the_newest_batch() -> None:
    columns = {COMPARED: {1: 50.0, 2: 30.0}, STORED: {1: 1000.0, 2: 4000.0}}
    gain = compared_gain(columns)
    assert gain is not None
    assert (gain.lead, gain.figure, gain.tone) == ("Searches compare", "30 tuples", "gain")
    assert [point[:2] for point in gain.curve] == [(1, 0.95), (2, 0.9925)]
    assert gain.basis.endswith(f"all {show(4000, 'int')} in them")


def test_a_scan_saves_nothing_and_is_said_to() -> None:
    gain = compared_gain({COMPARED: {3: 100.0}, STORED: {3: 100.0}})
    assert gain is not None
    assert (gain.figure, gain.tone) == ("", "quiet")
    assert compared_gain({COMPARED: {3: 1.0}, STORED: {}}) is None


def test_the_story_has_means_over_the_run() -> None:
    told = {COMPARED: series(COMPARED, [10.0, 20.0]), STORED: series(STORED, [100.0, 300.0])}
    assert compared_verdict(told) == (
        "compared 15 tuples for a search request to each state, on average, where a scan would "
        "compare 200"
    )
    assert compared_verdict({COMPARED: told[COMPARED]}) == ""
