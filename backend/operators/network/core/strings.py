"""Codes of strings: equal strings have equal codes, within a shard, as long as its state holds one.

State holds a code in a 64-bit word of its own. So the words of a state tell which codes it may hold
(words that are something else, and happen to be codes, only keep some strings longer), and the
others are given back between two batches, when the strings have doubled in number since that was
done last: windows forget strings as they forget tuples.
"""

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
#: Strings that came since codes were given back: at least so many, and one for so many words of
#: state, before that is done again. So it takes less time than they took to come.
LEAST_NEW: Final = 1 << 14
WORDS_PER_NEW: Final = 64
#: Words of state that are looked at at once.
_PIECE: Final = 1 << 20
#: Of ``swept``: strings that the last sweep left; codes that were in use or free then.
_LEFT, _SLOTS = range(2)


@dataclass
class _Decoded:
    """The strings of a dictionary, and what was decoded: all bytes, their ends, their codes.

    slots: codes that were in use or free after the last sweep; texts: by code, '' where it is free;
    free: descending; ranks: of the first n_ranked strings.
    """

    slots: int = 0
    texts: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)
    ends: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    ranks: Ints | None = None
    n_ranked: int = 0

    def is_of(self, slots: int, data: NDArray[np.uint8], ends: Ints, codes: Ints) -> bool:
        """Whether a dictionary begins with these strings."""
        n, n_bytes = len(self.ends), len(self.data)
        is_in = slots == self.slots and n <= len(ends) and n_bytes <= len(data)
        is_same = is_in and self.ends == ends[:n].tolist() and self.places == codes[:n].tolist()
        return is_same and self.data == data[:n_bytes].tobytes()

    def next_code(self) -> int:
        """Of the next string that is new: the least that is free."""
        return self.free[-1] if self.free else len(self.texts)

    def append(self, text: str, data: bytes) -> int:
        """One string more; its code."""
        code = self.next_code()
        if self.free:
            self.texts[self.free.pop()] = text
        else:
            self.texts.append(text)
        self.codes[text] = code
        self.data += data
        self.ends.append(len(self.data))
        self.places.append(code)
        return code


_KEPT: Final[dict[str, _Decoded]] = {}


class Strings:
    """A dictionary in regions: bytes of all strings as they came, where each ends, by how much its
    code differs from its place, and in which order they are as far as that was asked for. name: of
    the dictionary in this process, by which it finds again what was decoded before ('': it is
    decoded anew)."""

    def __init__(self, regions: Regions, name: str = "") -> None:
        self._regions, self._name = regions, name
        self._facts = regions.array("facts", "int64", 2)  # strings, bytes
        self._swept = regions.array("swept", "int64", 2)
        self._ends = regions.array("ends", "int64", 1024)
        regions.array("moved", "int64", len(self._ends))
        self._moved = regions.resized("moved", len(self._ends))
        self._bytes = regions.array("bytes", "uint8", 16_384)
        self._know(self._decoded(_KEPT.pop(name, None)))

    def keep(self) -> None:
        """Have what is decoded found again by the next one of this name; it is the last use of this
        one."""
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
        _KEPT[self._name] = self._known

    def __len__(self) -> int:
        """Above all codes."""
        return len(self._texts)

    def sweep(self, state: Regions) -> int:
        """Give back the codes that a state does not hold, if it may be many; how many it were.
        Called while nothing else holds any."""
        n = int(self._facts[0])
        n_new, left = n - int(self._swept[_LEFT]), int(self._swept[_LEFT])
        if n_new >= max(LEAST_NEW, left, state.n_bytes // 8 // WORDS_PER_NEW):
            self._keep_only(_held(state, len(self)))
        return n - int(self._facts[0])

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
        """int64[n]: the place of each code's string in the order of all strings (by code point); 0
        of codes that are free."""
        known, n = self._known, int(self._facts[0])
        if known.ranks is None or known.n_ranked != n:
            order = self._ordered()
            known.ranks, known.n_ranked = np.zeros(len(self), np.int64), n
            known.ranks[order] = np.arange(n)
        return known.ranks

    def _ordered(self) -> Ints:
        """All codes in the order of their strings. Those ordered before keep their order: only what
        is new is sorted, and put between."""
        n_ordered = self._regions.array("n_ordered", "int64", 1)
        order = self._regions.array("order", "int64", 1024)
        n, before, text_of = int(self._facts[0]), order[: int(n_ordered[0])], self.text
        new = sorted(self._known.places[len(before) :], key=text_of)
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
            self._moved = self._regions.resized("moved", 2 * n)
        while used + len(data) > len(self._bytes):
            self._bytes = self._regions.resized("bytes", 2 * len(self._bytes))
        self._bytes[used : used + len(data)] = np.frombuffer(data, np.uint8)
        self._ends[n], self._moved[n] = used + len(data), self._known.next_code() - n
        self._facts[:] = n + 1, used + len(data)
        return self._known.append(text, data)

    def _keep_only(self, held: NDArray[np.bool_]) -> None:
        """Forget the strings of codes that are not held; the others keep code and turn."""
        n, used = int(self._facts[0]), int(self._facts[1])
        codes = self._moved[:n] + np.arange(n)
        is_kept = held[codes]
        lengths = np.diff(self._ends[:n], prepend=0)
        data, lengths_kept = self._bytes[:used][np.repeat(is_kept, lengths)], lengths[is_kept]
        n_kept = len(lengths_kept)
        self._bytes[: len(data)] = data
        self._ends[:n_kept] = np.cumsum(lengths_kept)
        self._moved[:n_kept] = codes[is_kept] - np.arange(n_kept)
        n_ordered = self._regions.array("n_ordered", "int64", 1)
        order = self._regions.array("order", "int64", 1024)
        ordered = order[: int(n_ordered[0])]
        ordered = ordered[held[ordered]]
        order[: len(ordered)], n_ordered[0] = ordered, len(ordered)
        self._facts[:], self._swept[:] = (n_kept, len(data)), (n_kept, len(self))
        self._know(self._decoded(None))

    def _know(self, known: _Decoded) -> None:
        self._known = known
        self._texts: Sequence[str] = known.texts
        self._codes = known.codes

    def _decoded(self, known: _Decoded | None) -> _Decoded:
        """The strings that are there. known: what was decoded before."""
        n, slots, left = int(self._facts[0]), int(self._swept[_SLOTS]), int(self._swept[_LEFT])
        ends, data = self._ends[:n], self._bytes[: int(self._facts[1])]
        codes = self._moved[:n] + np.arange(n)
        if known is None or not known.is_of(slots, data, ends, codes):
            # those that a sweep left have any codes, later ones the least that was free
            free = np.setdiff1d(np.arange(slots), codes[:left])
            turns = [*free[::-1].tolist(), *codes[:left][::-1].tolist()]
            known = _Decoded(slots, [""] * slots, free=turns)
        begin = len(known.data)
        rest = data[begin:].tobytes()
        for end in (ends[len(known.ends) :] - begin).tolist():
            own = rest[len(known.data) - begin : end]
            known.append(own.decode("utf-8", "surrogatepass"), own)
        return known


def _held(state: Regions, n: int) -> NDArray[np.bool_]:
    """bool[n]: which codes a state may hold."""
    held = np.zeros(n, np.bool_)
    for _, array in state.arrays():
        words = array.view(np.uint64) if array.itemsize == 8 else array[:0]
        for begin in range(0, len(words), _PIECE):
            piece = words[begin : begin + _PIECE]
            held[piece[piece < n].astype(np.int64)] = True
    return held
