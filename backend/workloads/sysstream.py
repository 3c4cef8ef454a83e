"""SysStream: what a run measures of itself, as a stream that queries may read (thesis, 2.5)."""

from __future__ import annotations

from typing import Final

from backend.model.schema import Schema

SYSSTREAM: Final = "SysStream"
#: qid: the query an entity belongs to, '' where several share it; eid: the entity; etype: its kind;
#: prop: the property, val: its value.
SYS_SCHEMA: Final = Schema.parse("qid string, eid string, etype string, prop string, val double")
