"""What hosts make of a unit's network: jobs that know their streams."""

from __future__ import annotations

from pathlib import Path

from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.workloads.file_source import FileSource, reader_of
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop

S = Schema.parse("at bigint, value bigint")


def whole(query: str = "q") -> NetworkJob:
    """Answers with the stream itself."""
    plan = NetworkPlan(
        (PlannedOperator("S", StreamInput("S", (1,)), (), S.attributes[1:]),),
        {query: PlannedAnswer("S", True)},
        (ShardGroup(("S",), {}, "no key"),),
    )
    return NetworkJob(plan, {"S": S}, {"S": StreamTime("at")})


def test_time_goes_on_where_a_file_begins_anew(tmp_path: Path) -> None:
    """How long it is nobody knows before it was read once."""
    path = tmp_path / "s.csv"
    path.write_text("at,value\n" + "".join(f"{k},{k}\n" for k in range(50)))
    options = {"path": str(path), "header": "true"}
    read = reader_of("csv", options)
    assert read is not None
    spec = StreamSpec("S", S, SourceSpec("csv", options), "at")
    input, job = InputSource(spec, FileSource(str(path), S, read)), whole()
    loop = FixedLoop({}, {("S", "at_end"): "loop"}, networks=lambda batch_id: {"u": job})
    host = LocalHost(loop, [input], SinkSpec(None), 30)
    for _ in range(8):
        host.step()
    host.close()
    n_tuples = loop.total("S", "n_tuples")
    assert n_tuples > 3 * 50
    assert loop.total("S", "n_misfits") == 0
    taus = [one.tau for report in loop.reports("u") for one in report.recent.get("q", ())]
    assert taus == list(range(n_tuples - 1))  # the last one waits for the next
