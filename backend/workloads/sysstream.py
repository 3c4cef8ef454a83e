"""What a run has of itself as streams that queries may read (thesis, 2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backend.model.schema import Schema

#: What a run measures.
SYSSTREAM: Final = "SysStream"
#: Evaluations of its adaptive parts, as the plan log has them.
SYSPLANLOG: Final = "SysPlanLog"
#: Stream -> what queries may name.
#: SysStream: qid: the query an entity belongs to, '' where several share it; eid: the entity;
#: etype: its kind; prop: the property, val: its value.
#: SysPlanLog: run_s: seconds since the run began; subject: what was decided, '' by the only
#: autopilot of a unit; t: elements of input before it; plan: digest of that which was chosen, at a
#: predicted cost; measured: cost of what ran since the evaluation before, NULL where nothing did;
#: deciding: cost of the evaluation; rival: the other plan, NULL without one; switched: 1 where the
#: plan changed.
SYS_STREAMS: Final[Mapping[str, Schema]] = {
    SYSSTREAM: Schema.parse("qid string, eid string, etype string, prop string, val double"),
    SYSPLANLOG: Schema.parse(
        "run_s double, unit string, subject string, t bigint, plan string, predicted double, "
        "measured double, deciding double, rival string, rival_predicted double, switched int, "
        "cost_unit string"
    ),
}
