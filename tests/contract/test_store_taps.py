"""Samples of tapped operators in the store: the last ones of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storage.errors import BadRecord
from storage.store import EngineWriter, Reader
from storage.vocabulary.taps import TapSample
from storage.writing import newest
from tests.contract.store_builders import begin, record


def test_a_run_keeps_the_batches_of_its_last_taps(
    writer: EngineWriter, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "TAPS_PER_RUN", 5)
    begin(writer)
    for number in range(5):
        rows = [[number, 1, 1, "a"]]
        samples = tuple(TapSample("u", f"o{k}", 1, ("x",), rows) for k in range(2 + number % 2))
        for _ in range(2):  # the second time is a repetition
            writer.write_batch(replace(record(number), taps=samples))
    assert {tap.batch_id for at in range(5) for tap in reader.taps("r1", "o0", at)} == {3, 4}
    with pytest.raises(BadRecord, match="no taps"):
        writer.write_batch(replace(record(None), taps=samples))
