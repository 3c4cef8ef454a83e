"""A window under a limit as JSON, so that a run that was killed goes on as if it had not been."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.receipts import ChargeKey, ChargeSums, LedgerState
from backend.operators.network.shedding.temporal import TemporalTuple, Values

#: Of the form below; another one is refused.
_VERSION: Final = 1


class ShedStateRefused(ValueError):
    """A state that cannot be gone on with; the message says why."""


class SavedTuple(NamedTuple):
    """A tuple that a window knows of. in_memory, beside: where it is; is_open: it may grow; at: its
    timestamp, None: its start."""

    tuple: TemporalTuple
    in_memory: bool
    beside: bool
    is_open: bool
    at: int | None = None


class WindowState(NamedTuple):
    """All that a window under a limit goes on with. lost: the length that went from the run in
    memory that begins with a tuple, by its number. last_dropped, unseen: positions; first: of the
    window; newest: the last arrival; reached: the largest start."""

    options: ShedOptions
    kept: tuple[SavedTuple, ...]
    lost: Mapping[int, int]
    ledger: LedgerState
    last_dropped: int | None
    unseen: int | None
    first: int | None
    newest: int | None
    reached: int | None


def packed(state: WindowState) -> str:
    """As text; values are numbers, strings, truths and NULL."""
    groups: dict[Values, int] = {}
    rows = [_row(kept, groups) for kept in state.kept]
    parts = [[part, _charged(key), sums] for part, key, sums in state.ledger.parts]
    return json.dumps(
        {
            "version": _VERSION,
            "options": state.options._asdict(),
            "tuples": rows,
            "values": list(groups),
            "lost": list(state.lost.items()),
            "ledger": [parts, state.ledger.sums],
            "marks": state[4:],
        },
        separators=(",", ":"),
    )


def _row(kept: SavedTuple, groups: dict[Values, int]) -> list[int | None]:
    number, values, start, end = kept.tuple
    where = kept.in_memory | kept.beside << 1 | kept.is_open << 2
    return [number, groups.setdefault(values, len(groups)), start, end, where, kept.at]


def _charged(key: ChargeKey) -> list[Any]:
    return [list(key.values), key.reason]


def unpacked(text: str) -> WindowState:
    """What ``packed`` made a text of. Raises ShedStateRefused."""
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            raise ShedStateRefused(f"it is of version {document['version']}; {_VERSION} is read")
        groups = [tuple(values) for values in document["values"]]
        parts, sums = document["ledger"]
        charges = [(part, _charge_key(key), ChargeSums(*charge)) for part, key, charge in parts]
        options = ShedOptions(**document["options"])
        options.check()
        return WindowState(
            options,
            tuple(_kept(row, groups) for row in document["tuples"]),
            dict(map(tuple, document["lost"])),
            LedgerState(tuple(charges), ChargeSums(*sums)),
            *document["marks"],
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, ShedStateRefused):
            raise
        raise ShedStateRefused(f"it is damaged: {error}") from error


def _kept(row: Sequence[Any], groups: Sequence[Values]) -> SavedTuple:
    number, group, start, end, where, at = row
    kept = TemporalTuple(number, groups[group], start, end)
    return SavedTuple(kept, bool(where & 1), bool(where & 2), bool(where & 4), at)


def _charge_key(key: Sequence[Any]) -> ChargeKey:
    values, reason = key
    return ChargeKey(tuple(values), reason)
