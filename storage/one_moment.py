"""A reader for what is drawn together: one transaction, and nothing is read twice.

A page is made of panels that each ask for what they need; most need the run, its units, its
entities, its knobs and its newest decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from sqlalchemy import Connection

from storage.errors import translated
from storage.reader import Reader
from storage.tables.soundness import blamed


class MomentReader(Reader):
    """Reads the store as it is at its first question, until it is left. Not thread-safe."""

    def __init__(self, reader: Reader) -> None:
        self.__dict__.update(reader.__dict__)
        self._base = reader.base
        self._connection: Connection | None = None
        self._answers: dict[tuple[str, str], Any] = {}

    @property
    def base(self) -> Reader:
        """The reader it was made of."""
        return self._base

    def close(self) -> None:
        """End the transaction; the reader it was made of stays open."""
        if self._connection is not None:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """The connection of the transaction."""
        with translated(self.where):
            if self._connection is None or self._connection.invalidated:
                self._connection = self._engine.connect()
            with blamed(self._connection):
                yield self._connection


def _once(name: str) -> Callable[..., Any]:
    """A method of Reader that remembers its answers. They are tuples: nobody changes them."""
    method = getattr(Reader, name)

    @wraps(method)
    def read(self: MomentReader, *args: Any, **named: Any) -> Any:
        asked = (name, repr((args, named)))
        if asked not in self._answers:
            self._answers[asked] = method(self, *args, **named)
        return self._answers[asked]

    return read


for _name in (
    *("run", "runs", "last_batch", "batches", "inputs", "stretch", "events", "misfits"),
    *("units", "entities", "plans", "plan_at", "knobs", "knob_history"),
    *("decisions", "decision_counts", "looks", "matrix", "matrix_keys"),
):
    setattr(MomentReader, _name, _once(_name))
