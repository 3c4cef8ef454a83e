"""Key groups: values fall into so many groups by a hash, evenly, and the same in every shard."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import numpy as np

from backend.model.draws import seeds_of
from backend.operators.network.core.blocks import Column64, Ints
from backend.operators.network.core.strings import Strings

#: Groups there are.
N_GROUPS: Final = 1024
_BITS: Final = np.uint64(64 - 10)


def grouped(seed: int, words: Ints) -> Ints:
    """int64[n]: the groups of words of 64 bits."""
    return (seeds_of(seed, words) >> _BITS).view(np.int64)


class KeyGroups:
    """The groups of a column's values; NULL is in group 0. strings: of columns of text, whose codes
    are others in other shards; None: values are numbers. as_float: integers are compared with
    floating-point numbers, and in the group of what they are equal to."""

    def __init__(self, strings: Strings | None, as_float: bool = False) -> None:
        self._strings, self._as_float = strings, as_float
        self._known: dict[int, int] = {}

    def of(self, column: Column64) -> Ints:
        """int64[n]."""
        values = column.values.astype(np.float64) + 0.0 if self._as_float else column.values
        words = values.view(np.int64)
        if self._strings is not None:
            codes, places = np.unique(words, return_inverse=True)
            words = np.array([self._word(code) for code in codes.tolist()], np.int64)[places]
        groups = grouped(0, words)
        if column.valid is not None:
            groups[~column.valid] = 0
        return groups

    def _word(self, code: int) -> int:
        """Of a string, by what it says."""
        if code not in self._known:
            assert self._strings is not None
            text = self._strings.text(code).encode("utf-8", "surrogatepass")
            digest = blake2b(text, digest_size=8).digest()
            self._known[code] = int.from_bytes(digest, signed=True)
        return self._known[code]
