"""Bytes of tuples as runs, written out: slow twin of ``shed_coded``. Card B7

A tuple is (number, values, start, end); ``at`` says where it is in the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import TemporalTuple


def wrapped(number: int) -> int:
    """As 64 bits hold it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def coded(number: int) -> bytes:
    """In 0, 1, 4 or 8 bytes."""
    number = wrapped(number)
    if not number:
        return b""
    size = next(n for n in (1, 4, 8) if -(1 << 8 * n - 1) <= number < 1 << 8 * n - 1)
    return number.to_bytes(size, "little", signed=True)


def coded_group(tuples: Iterable[TemporalTuple], at: Mapping[int, int] | None) -> bytes:
    """Tuples of a value. at: where each is in a window of time; None: a window of rows."""
    whole = b""
    before: tuple[int, int, int, int] = (0, 0, 0, 0)
    for one in sorted(tuples, key=lambda one: (one.start, one.number)):
        place = one.start if at is None else at[one.number]
        start, end, number, where = before
        parts = [
            coded(one.start - end),
            coded((one.end - one.start) - (end - start)),
            coded(one.number - number - 1),
            coded(0 if at is None else (place - one.start) - (where - start)),
        ]
        sizes = [(0, 1, 4, 8).index(len(part)) for part in parts]
        whole += bytes([sum(size << 2 * n for n, size in enumerate(sizes))]) + b"".join(parts)
        before = (one.start, one.end, one.number, place)
    return whole


def run_bytes(
    tuples: Sequence[TemporalTuple], n_values: int, at: Mapping[int, int] | None = None
) -> int:
    """Of all."""
    groups = {one.values for one in tuples}
    return sum(
        8 * n_values + 8 + len(coded_group([one for one in tuples if one.values == values], at))
        for values in groups
    )


class WindowInBytes(SheddingWindow):
    """A window whose limit is of bytes as runs, counted anew each time, if its options say so."""

    n_values = 1

    @property
    def bytes_as_runs(self) -> int:
        """Of what is in memory."""
        is_rows = self.extent.kind == "rows"
        at = {one.number: self._position(one) for one in self.memory}
        return run_bytes(list(self.memory), self.n_values, None if is_rows else at)

    @property
    def beside_bytes(self) -> int:
        """Of what is beside and not in memory, and of what went from runs."""
        alone = [one for one in self.beside if one.number not in self.memory]
        if not self.options.as_runs:
            return 16 * len(alone)
        is_rows = self.extent.kind == "rows"
        at = {one.number: self._position(one) for one in alone}
        as_runs = run_bytes(alone, self.n_values, None if is_rows else at)
        return as_runs + 16 * sum(run.lost != 0 for run in self.memory.runs())

    @property
    def held(self) -> int:
        if not self.options.as_runs:
            return super().held
        return self.bytes_as_runs

    @property
    def limits(self) -> tuple[int, int]:
        return self.options.limits(8 * (self.n_values + 2))
