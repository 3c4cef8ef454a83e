"""Bits that numbers of looks are written in and read from, the low ones first.

A number comes back as it was: what six digits do not hold goes in as a double.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Final

from storage.tables.columns import load_json
from storage.vocabulary.records import Json

#: Of what is read and written here; and that before, without ratios, spreads and steps.
VERSION: Final = 2
BEFORE: Final = 1
#: Bits of the digits of a number, short ones and long ones, and what stands for a double.
_WIDTHS: Final = (5, 10, 20)
_DOUBLE: Final = 3
#: Whole numbers of ratios are below.
_MOST_RATIO: Final = 2**31
#: The least of 16 exponents.
_LOW: Final = -11


def is_ratio(value: float, n: int) -> bool:
    """Whether it is so many n-ths, to six digits."""
    return abs(value) * n < _MOST_RATIO and n > 0 and _ratio(round(value * n), n) == value


def _ratio(whole: int, n: int) -> float:
    return float(f"{whole / n:.6g}")


def _spread(squared: int, mean: float, n: int) -> float:
    """Σ (x - mean)² of whole numbers with this sum of squares."""
    return float(f"{squared - round(mean * n) ** 2 / n:.6g}")


def _signed(value: int) -> int:
    """As a count, which is short where the number is."""
    return 2 * value if value >= 0 else -2 * value - 1


def _unsigned(value: int) -> int:
    return -(value + 1) // 2 if value & 1 else value // 2


class BitsOut:
    """Bits that grow, the low ones first."""

    def __init__(self) -> None:
        self._bits = self._n = 0

    @property
    def data(self) -> bytes:
        """In whole bytes."""
        return self._bits.to_bytes((self._n + 7) // 8, "little")

    def bits(self, value: int, width: int) -> None:
        """So many bits."""
        self._bits |= value << self._n
        self._n += width

    def whole(self, value: int, width: int = 4) -> None:
        """Some bits at a time, each time with one that says whether more follow."""
        if value < 0:
            raise ValueError(f"{value} is no count")
        more = 1 << width
        while value >= more:
            self.bits(value % more | more, width + 1)
            value >>= width
        self.bits(value, width + 1)

    def steps(self, rows: Sequence[Sequence[int]]) -> None:
        """(place, step), by place: how far they are apart, and steps, which are mostly short."""
        self.whole(len(rows))
        before = -1
        for place, step in rows:
            self.whole(place - before - 1, 2)
            self.whole(_signed(step), 7)
            before = place

    def number(self, value: float) -> None:
        """How long it is, its sign, an exponent of ten, and its digits; or a double."""
        digits, exponent = _decimal(value)
        if not _LOW <= exponent < _LOW + 16 or float(f"{digits}e{exponent}") != abs(value):
            self.bits(_DOUBLE, 2)
            self.bits(int.from_bytes(struct.pack("<d", value), "little"), 64)
            return
        length = next(n for n, width in enumerate(_WIDTHS) if digits < 1 << width)
        self.bits(length | (value < 0) << 2 | (exponent - _LOW) << 3, 7)
        self.bits(digits, _WIDTHS[length])

    def ratio(self, value: float, n: int) -> None:
        """What is mostly so many n-ths, to six digits."""
        is_short = is_ratio(value, n)
        self.bits(is_short, 1)
        if is_short:
            self.whole(_signed(round(value * n)), 5)
        else:
            self.number(value)

    def spread(self, value: float, mean: float, n: int) -> None:
        """Σ (x - mean)², of n numbers that are mostly whole."""
        is_whole = is_ratio(mean, n) and 0 <= value < _MOST_RATIO
        squared = round(value + round(mean * n) ** 2 / n) if is_whole else 0
        is_whole = is_whole and _spread(squared, mean, n) == value
        self.bits(is_whole, 1)
        if is_whole:
            self.whole(squared, 5)
        else:
            self.number(value)

    def multiple(self, value: float, unit: float) -> None:
        """What is mostly so many times another number, to six digits."""
        n = round(value / unit) if 0 < value < unit * 2**31 else 0
        is_multiple = n > 0 and float(f"{n * unit:.6g}") == value
        self.whole(n if is_multiple else 0)
        if not is_multiple:
            self.number(value)

    def optional(self, value: float | None) -> None:
        """A number, or that there is none."""
        self.bits(value is not None, 1)
        if value is not None:
            self.number(value)

    def text(self, value: str) -> None:
        """Its length first."""
        encoded = value.encode()
        self.whole(len(encoded))
        self.bits(int.from_bytes(encoded, "little"), 8 * len(encoded))


class BitsIn:
    """Bits that are read as ``BitsOut`` wrote them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0
        self.version = VERSION

    @property
    def rest(self) -> bytes:
        """Whole bytes that were not begun."""
        return self._data[(self._place + 7) // 8 :]

    def bits(self, width: int) -> int:
        """Raises IndexError at the end."""
        first, shift = divmod(self._place, 8)
        self._place += width
        if self._place > 8 * len(self._data):
            raise IndexError("the bytes end too soon")
        part = self._data[first : (self._place + 7) // 8]
        return int.from_bytes(part, "little") >> shift & (1 << width) - 1

    def whole(self, width: int = 4) -> int:
        """As it was written; so are the others."""
        more = 1 << width
        value, shift, bits = 0, 0, more
        while bits & more:
            bits = self.bits(width + 1)
            value |= bits % more << shift
            shift += width
        return value

    def steps(self) -> list[list[int]]:
        rows: list[list[int]] = []
        if self.version == BEFORE:
            return rows
        place = -1
        for _ in range(self.whole()):
            place += 1 + self.whole(2)
            rows.append([place, _unsigned(self.whole(7))])
        return rows

    def number(self) -> float:
        length = self.bits(2)
        if length == _DOUBLE:
            return float(struct.unpack("<d", self.bits(64).to_bytes(8, "little"))[0])
        head = self.bits(5)
        value = float(f"{self.bits(_WIDTHS[length])}e{(head >> 1) + _LOW}")
        return -value if head & 1 else value

    def ratio(self, n: int) -> float:
        if self.version == BEFORE or not self.bits(1):
            return self.number()
        return _ratio(_unsigned(self.whole(5)), n)

    def spread(self, mean: float, n: int) -> float:
        if self.version == BEFORE or not self.bits(1):
            return self.number()
        return _spread(self.whole(5), mean, n)

    def multiple(self, unit: float) -> float:
        n = self.whole()
        return float(f"{n * unit:.6g}") if n else self.number()

    def optional(self) -> float | None:
        return self.number() if self.bits(1) else None

    def words(self, words: Sequence[str]) -> Json:
        head = self.whole()
        if not head & 1:
            return [self.words(words) for _ in range(head >> 1)]
        return words[(head >> 1) - 1] if head >> 1 else load_json(self.text())

    def text(self) -> str:
        length = self.whole()
        return self.bits(8 * length).to_bytes(length, "little").decode()


def _decimal(value: float) -> tuple[int, int]:
    """Six digits and an exponent of ten, without the zeros at their end."""
    if not math.isfinite(value) or not value:
        return 0, 0
    digits, _, exponent = f"{abs(value):.5e}".partition("e")
    whole, power = int(digits.replace(".", "")), int(exponent) - 5
    while not whole % 10:
        whole, power = whole // 10, power + 1
    return whole, power
