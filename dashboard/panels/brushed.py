"""The range of batches on screen: brushed on the strip, or its last minutes (modules/brush.js)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from dashboard.base.context import Context
from storage.reader import Reader

_ENDS: Final = re.compile(r"(\d{1,15})-(\d{1,15})")
_NEWEST: Final = re.compile(r"(\d{1,4})([mh])")
_SECONDS: Final = {"m": 60, "h": 3600}


class _OfBatch(Protocol):
    """A record of a batch."""

    @property
    def batch(self) -> int: ...


R = TypeVar("R", bound=_OfBatch)


class BatchRange(NamedTuple):
    """From one batch to another, both in it."""

    first: int
    last: int

    @property
    def words(self) -> str:
        """'batches 120 to 260'."""
        return f"batches {self.first} to {self.last}"


def range_shown(reader: Reader, context: Context) -> BatchRange | None:
    """The one that the address names; None: the whole run, also where nothing like it is named."""
    if ends := _ENDS.fullmatch(context.moment.span):
        first, last = sorted(map(int, ends.groups()))
        return BatchRange(first, last)
    newest = _NEWEST.fullmatch(context.moment.span)
    if newest is None or context.now is None:
        return None
    now = reader.batch(context.run_id, context.now)
    since = now and reader.find_batch(
        context.run_id, now.time - int(newest[1]) * _SECONDS[newest[2]]
    )
    return BatchRange(since or 0, context.now)


def within(records: Sequence[R], shown: BatchRange | None) -> list[R]:
    """Those of a range, or all."""
    return [
        record for record in records if shown is None or shown.first <= record.batch <= shown.last
    ]
