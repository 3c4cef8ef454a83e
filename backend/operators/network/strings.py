"""Codes of strings: equal strings have equal codes, within a shard, for good."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.operators.network.blocks import Ints
from backend.operators.network.regions import Regions


class Strings:
    """An append-only dictionary in regions: bytes of all strings, where each ends, and in which
    order they are as far as that was asked for."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._facts = regions.array("facts", "int64", 2)  # strings, bytes
        self._ends = regions.array("ends", "int64", 1024)
        self._bytes = regions.array("bytes", "uint8", 16_384)
        self._texts = self._held()
        self._codes = {text: code for code, text in enumerate(self._texts)}
        self._ranks: Ints | None = None

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
        found = self._codes.get(text)
        return self._append(text) if found is None else found

    def text(self, code: int) -> str:
        """The string of a code."""
        return self._texts[code]

    def decode(self, codes: Ints) -> pa.Array[Any]:
        """The strings of codes, as an Arrow array."""
        places, indices = np.unique(codes, return_inverse=True)
        texts = pa.array([self._texts[code] for code in places], pa.string())
        return texts.take(pa.array(indices))

    def ranks(self) -> Ints:
        """int64[n]: the place of each code's string in the order of all strings (by code point)."""
        if self._ranks is None or len(self._ranks) != len(self._texts):
            order = self._ordered()
            self._ranks = np.empty(len(order), np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks

    def _ordered(self) -> Ints:
        """All codes in the order of their strings. Those ordered before keep their order: only what
        is new is sorted, and put between."""
        n_ordered = self._regions.array("n_ordered", "int64", 1)
        order = self._regions.array("order", "int64", 1024)
        n, before, text_of = len(self._texts), order[: int(n_ordered[0])], self._texts.__getitem__
        new = sorted(range(len(before), n), key=text_of)
        if new:
            places = [bisect_left(before, text_of(code), key=text_of) for code in new]
            found = np.insert(before, places, new)
            if len(order) < n:
                order = self._regions.resized("order", max(n, 2 * len(order)))
            order[:n], n_ordered[0] = found, n
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
        self._codes[text] = n
        self._texts.append(text)
        return n

    def _held(self) -> list[str]:
        """The strings that are there."""
        ends = self._ends[: len(self)].tolist()
        data = self._bytes[: int(self._facts[1])].tobytes()
        begins = [0, *ends]
        return [
            data[begin:end].decode("utf-8", "surrogatepass")
            for begin, end in zip(begins, ends, strict=False)
        ]
