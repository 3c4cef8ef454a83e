"""How much memory the bitmaps of the registered queries may take (knob ``bitmap_memory``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from backend.model.conditions import ContinuousQuery
from backend.systems.asc.constructs import ConstructSet, ConstructStore
from backend.systems.asc.normal_form import QueryError

MIB: Final = 1 << 20


def taken_in(store: ConstructStore, queries: Sequence[ContinuousQuery], limit: int) -> ConstructSet:
    """The constructs of exactly these queries. limit: bytes; more only if it was more before.

    Raises QueryError, and then the store holds the queries of before.
    """
    before, taken = store.queries, store.snapshot().bitmap_bytes
    store.update(queries)
    snapshot = store.snapshot()
    try:
        check_memory(snapshot, max(limit, taken))
    except QueryError:
        store.update(before)
        raise
    return snapshot


def check_memory(constructs: ConstructSet, limit: int) -> None:
    """Refuse bitmaps of more than ``limit`` bytes. Raises QueryError."""
    taken = constructs.bitmap_bytes
    if taken > limit:
        raise QueryError(
            f"the bitmaps of {len(constructs.names_slots)} queries would take {mib(taken)}, and "
            f"bitmap_memory allows {mib(limit)}; raise it, or remove or pause queries"
        )


def mib(n_bytes: int) -> str:
    """``4.9 MiB``."""
    return f"{n_bytes / MIB:.3g} MiB"
