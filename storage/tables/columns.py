"""Column types and shared columns of the store's tables."""

from __future__ import annotations

import json
import math
from typing import Any

from sqlalchemy import BigInteger, Dialect, ForeignKey, Integer, Text, TypeDecorator, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from storage.errors import BadRecord
from storage.tables.shapes import ANY, Shape
from storage.tables.texts import why_unstorable

BigKey = BigInteger().with_variant(Integer, "sqlite")


class JsonText(TypeDecorator[Any]):
    """JSON kept as compact text on every database; NaN and infinities become null."""

    impl = Text
    cache_ok = True

    def __init__(self, shape: Shape = ANY) -> None:
        """shape: of the values; they are held to it as rows are read."""
        super().__init__()
        self.shape = shape

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """The value as JSON text."""
        return dump_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """The value of JSON text; None when the column is NULL."""
        return None if value is None else load_json(value)


def load_json(text: str) -> Any:
    """The value of JSON text; a half of a surrogate pair, as old stores may hold, becomes '?'.

    Raises json.JSONDecodeError for whatever is none."""
    value = _loaded(text)
    if "\\ud" in text and why_unstorable(value) is not None:
        whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(whole)
    return value


def _loaded(text: Any) -> Any:
    if not isinstance(text, str):
        raise json.JSONDecodeError("no text", "", 0)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # numbers, or nested, beyond what Python takes
        raise json.JSONDecodeError(str(error), "", 0) from error


def dump_json(value: Any) -> str:
    """Compact strict JSON of ``value``. Raises BadRecord.

    Tuples become lists, numpy scalars plain numbers, dates ISO text, NaN and infinities null.
    """
    try:
        return _ENCODER.encode(value)
    except BadRecord:
        raise
    except ValueError:
        return _ENCODER.encode(_finite(value))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "items"):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise BadRecord(
        f"{type(value).__name__} is no JSON; allowed: dict, list, str, number, bool, None"
    )


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    return value if isinstance(value, str | int | None) else _finite(_plain(value))


class Base(DeclarativeBase):
    """Base of all tables."""


def run_key() -> Mapped[str]:
    """Column run_id as part of the primary key."""
    return mapped_column(
        ForeignKey("runs.id"), primary_key=True, comment="the run the row belongs to"
    )


def run() -> Mapped[str]:
    """Column run_id."""
    return mapped_column(ForeignKey("runs.id"), comment="the run the row belongs to")


def unit_key() -> Mapped[str]:
    """Column unit_id as part of the primary key."""
    return mapped_column(
        Text, primary_key=True, comment="unit the row belongs to; '' = the run has no units"
    )


def added(meaning: str, default: str = "''") -> Mapped[Any]:
    """A text column that came later; a row without it has the default (SQL)."""
    return mapped_column(Text, server_default=text(default), comment=meaning)


def batch(
    meaning: str = "batch whose record carried the row; -1 = before the first",
) -> Mapped[int]:
    """Column batch_id."""
    return mapped_column(BigInteger, comment=meaning)
