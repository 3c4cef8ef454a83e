"""Stored relations: tables that queries join streams with, loaded once and never changed."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from backend.model.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class StoredRelation:
    """A relation whose tuples do not change. table: its attributes, each tuple fitting."""

    name: str
    schema: Schema
    table: pa.Table
