"""What became of the files of a stream, counted beside what was given."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.workloads.contract import CORRUPT, REASON
from backend.workloads.file_counts import FileCount
from tests.unit.workloads.test_file_source import opened, stream


@settings(max_examples=40, deadline=None)
@given(
    files=st.lists(st.lists(st.booleans(), max_size=9), min_size=1, max_size=5),
    cuts=st.lists(st.integers(1, 11), max_size=12),
    unreadable=st.integers(0, 4),
)
def test_what_became_of_files_is_counted_as_they_are(
    files: list[list[bool]], cuts: list[int], unreadable: int
) -> None:
    """Beside a count of what was given. Of a file each True is a line that fits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "in"
        folder.mkdir()
        for number, fits in enumerate(files):
            lines = "".join(f"{place if fit else 'x'},s\n" for place, fit in enumerate(fits))
            head = "other\n" if number == unreadable else "id,s\n"
            (folder / f"{number}.csv").write_text(head + lines)
            os.utime(folder / f"{number}.csv", times=(time.time() - 10,) * 2)
        source = opened(stream(folder, header="true"))
        parts = [source.slice(0, 0)]
        for cut in cuts:
            parts.append(source.slice(sum(map(len, parts)), cut))
        given_rows = pa.concat_tables(parts).select([CORRUPT, REASON]).to_pylist()
        told, left = source.files_read, given_rows
        for number, fits in enumerate(files):
            file = str(folder / f"{number}.csv")
            whole = [False] if number == unreadable else fits
            own, left = left[: len(whole)], left[len(whole) :]
            count = told.counts.get(file, FileCount())
            assert count.n_tuples == len(own)
            assert count.n_misfits == sum(row[REASON] is not None for row in own)
            assert count.is_refused == (number == unreadable and bool(own))
            for place, row in enumerate(own, 1):
                if row[REASON] is not None and number != unreadable:
                    assert told.places[row[CORRUPT], row[REASON]].startswith(str(folder))
                    places = [p for p, fit in enumerate(fits, 1) if not fit]
                    assert place in places
        assert told.n_refused == sum(count.is_refused for count in told.counts.values())
        assert set(told.waiting) <= {str(folder / f"{n}.csv") for n in range(len(files))}
        assert not set(told.waiting) & set(told.counts)
