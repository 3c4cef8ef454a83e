"""Statements with the conditions that somebody asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import ColumnElement, Select

Statement = TypeVar("Statement", bound=Select[Any])
#: A column, how it compares, and with what; None = all its values will do.
Asked: TypeAlias = tuple[ColumnElement[Any], Callable[[Any, Any], Any], Any]


def narrowed(statement: Statement, *asked: Asked) -> Statement:
    """The statement where all holds that is asked for."""
    return statement.where(
        *(holds(column, value) for column, holds, value in asked if value is not None)
    )


def among(column: ColumnElement[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    """Whether it is one of some values."""
    return column.in_(list(values))
