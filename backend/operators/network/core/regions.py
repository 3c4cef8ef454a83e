"""Where operators keep their state: flat arrays by name, in memory or in mapped files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Regions(Protocol):
    """The arrays of one operator or store. State lies in them alone: no Python object outlives a
    batch. Sizes only grow; what grows keeps its content in front. The code of a string is a 64-bit
    word of its own, or its string is forgotten (strings.py)."""

    def array(self, name: str, dtype: str, size: int, fill: int = 0) -> NDArray[Any]:
        """The array ``name`` as it was left; or a new one of ``size`` values, all ``fill``."""

    def resized(self, name: str, size: int, fill: int = 0) -> NDArray[Any]:
        """The array with room for ``size`` values; those that are new are ``fill``. Arrays given
        before are of no use any more."""

    def scope(self, name: str) -> Regions:
        """The arrays of a part, whose names do not meet others."""

    def drop(self, name: str = "") -> None:
        """Forget the array ``name`` with the scope of that name; '': all arrays."""

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """All arrays, those of its scopes included, and what they are called within all there
        are."""

    @property
    def n_bytes(self) -> int:
        """Of all arrays, those of its scopes included."""


class MemoryRegions:
    """Arrays in memory."""

    def __init__(self, arrays: dict[str, NDArray[Any]] | None = None, prefix: str = "") -> None:
        self._arrays: dict[str, NDArray[Any]] = {} if arrays is None else arrays
        self._prefix = prefix

    def array(self, name: str, dtype: str, size: int, fill: int = 0) -> NDArray[Any]:
        key = self._prefix + name
        if key not in self._arrays:
            self._arrays[key] = np.full(size, fill, np.dtype(dtype))
        return self._arrays[key]

    def resized(self, name: str, size: int, fill: int = 0) -> NDArray[Any]:
        key = self._prefix + name
        old = self._arrays[key]
        if size > len(old):
            self._arrays[key] = np.full(size, fill, old.dtype)
            self._arrays[key][: len(old)] = old
        return self._arrays[key]

    def scope(self, name: str) -> MemoryRegions:
        return MemoryRegions(self._arrays, f"{self._prefix}{name}/")

    def drop(self, name: str = "") -> None:
        own = self._prefix + name
        for key in [
            k for k in self._arrays if k == own or k.startswith(f"{own}/" if name else own)
        ]:
            del self._arrays[key]

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        return ((key, a) for key, a in self._arrays.items() if key.startswith(self._prefix))

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for _, array in self.arrays())
