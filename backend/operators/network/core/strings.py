"""Codes of strings: equal strings have equal codes, within a shard, for good."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.regions import Regions

#: Dictionaries whose strings stay decoded in a process, at most.
_MOST_KEPT: Final = 64


@dataclass
class _Decoded:
    """The strings of a dictionary, their codes, and what was decoded: all bytes, their ends."""

    texts: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)
    ends: list[int] = field(default_factory=list)
    ranks: Ints | None = None

    def is_of(self, data: NDArray[np.uint8], ends: Ints) -> bool:
        """Whether a dictionary begins with these strings."""
        n, n_bytes = len(self.ends), len(self.data)
        is_in = n <= len(ends) and n_bytes <= len(data)
        return is_in and self.ends == ends[:n].tolist() and self.data == data[:n_bytes].tobytes()

    def append(self, text: str, data: bytes) -> None:
        """One string more."""
        self.codes[text] = len(self.texts)
        self.texts.append(text)
        self.data += data
        self.ends.append(len(self.data))


_KEPT: Final[dict[str, _Decoded]] = {}


class Strings:
    """An append-only dictionary in regions: bytes of all strings, where each ends, and in which
    order they are as far as that was asked for. name: of the dictionary in this process, by which
    it finds again what was decoded before ('': it is decoded anew)."""

    def __init__(self, regions: Regions, name: str = "") -> None:
        self._regions, self._name = regions, name
        self._facts = regions.array("facts", "int64", 2)  # strings, bytes
        self._ends = regions.array("ends", "int64", 1024)
        self._bytes = regions.array("bytes", "uint8", 16_384)
        self._known = self._decoded()
        self._texts: Sequence[str] = self._known.texts
        self._codes = self._known.codes

    def keep(self) -> None:
        """Have what is decoded found again by the next one of this name; it is the last use of this
        one."""
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
        _KEPT[self._name] = self._known

    def __len__(self) -> int:
        return int(self._facts[0])

    def encode(self, column: pa.Array[Any]) -> tuple[Ints, NDArray[np.bool_] | None]:
        """Codes of a column of strings, 0 where NULL; and which are not NULL (None: all)."""
        coded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
        own = np.array([self.code(text) for text in coded.dictionary.to_pylist()], np.int64)
        if not column.null_count:
            return own[coded.indices.to_numpy()], None
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        places = coded.indices.fill_null(0).to_numpy()
        return (np.where(valid, own[places], 0) if len(own) else places.astype(np.int64)), valid

    def code(self, text: str) -> int:
        """Of one string; a new one is remembered."""
        code = self._codes.get(text)
        return self._append(text) if code is None else code

    def text(self, code: int) -> str:
        """The string of a code."""
        return self._texts[code]

    def decode(self, codes: Ints) -> pa.Array[Any]:
        """The strings of codes, as an Arrow array; NULL where a code is negative."""
        places, indices = np.unique(codes, return_inverse=True)
        texts = [self._texts[code] if code >= 0 else None for code in places.tolist()]
        return pa.array(texts, pa.string()).take(pa.array(indices))

    def ranks(self) -> Ints:
        """int64[n]: the place of each code's string in the order of all strings (by code point)."""
        ranks = self._known.ranks
        if ranks is None or len(ranks) != len(self._texts):
            order = self._ordered()
            ranks = self._known.ranks = np.empty(len(order), np.int64)
            ranks[order] = np.arange(len(order))
        return ranks

    def _ordered(self) -> Ints:
        """All codes in the order of their strings. Those ordered before keep their order: only what
        is new is sorted, and put between."""
        n_ordered = self._regions.array("n_ordered", "int64", 1)
        order = self._regions.array("order", "int64", 1024)
        n, before, text_of = len(self._texts), order[: int(n_ordered[0])], self._texts.__getitem__
        new = sorted(range(len(before), n), key=text_of)
        if new:
            places = [bisect_left(before, text_of(code), key=text_of) for code in new]
            codes = np.insert(before, places, new)
            if len(order) < n:
                order = self._regions.resized("order", max(n, 2 * len(order)))
            order[:n], n_ordered[0] = codes, n
        return order[:n]

    def _append(self, text: str) -> int:
        data = text.encode("utf-8", "surrogatepass")
        n, used = int(self._facts[0]), int(self._facts[1])
        if n == len(self._ends):
            self._ends = self._regions.resized("ends", 2 * n)
        while used + len(data) > len(self._bytes):
            self._bytes = self._regions.resized("bytes", 2 * len(self._bytes))
        self._bytes[used : used + len(data)] = np.frombuffer(data, np.uint8)
        self._ends[n] = used + len(data)
        self._facts[:] = n + 1, used + len(data)
        self._known.append(text, data)
        return n

    def _decoded(self) -> _Decoded:
        """The strings that are there."""
        ends, data = self._ends[: len(self)], self._bytes[: int(self._facts[1])]
        known = _KEPT.pop(self._name, None)
        if known is None or not known.is_of(data, ends):
            known = _Decoded()
        n, begin = len(known.ends), len(known.data)
        rest = data[begin:].tobytes()
        for end in (ends[n:] - begin).tolist():
            own = rest[len(known.data) - begin : end]
            known.append(own.decode("utf-8", "surrogatepass"), own)
        return known
