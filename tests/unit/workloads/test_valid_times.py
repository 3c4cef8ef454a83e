"""When tuples are valid, as a workload file says it, and what is kept aside."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from backend.model.schema import Schema, ValidTimes
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.input_manager import InputState, advance
from backend.operators.network.shards.timed import Arrived
from backend.workloads.spec import WorkloadError, load_workload

STREAM = """
[streams.Jobs]
schema = "name string, hired date, left_on date, born timestamp, n bigint"
source = {{ format = "memory", rows = [] }}
{keys}
[queries]
all = "Select * From Jobs"
"""


def valid_times(folder: Path, keys: str) -> ValidTimes | None:
    path = folder / "my.toml"
    path.write_text(STREAM.format(keys=keys), encoding="utf-8")
    return load_workload(path).streams[0].schema.valid


def test_given_times_are_spelled_as_in_the_schema(tmp_path: Path) -> None:
    given = valid_times(tmp_path, 'valid = ["HIRED", "left_on"]\nvalid_closed = true')
    assert given == ValidTimes("hired", "left_on", True, type="date")


def test_readings_hold_from_the_time_of_their_stream_on(tmp_path: Path) -> None:
    readings = valid_times(tmp_path, 'timestamp = "born"\nvalid_key = "name"')
    assert readings == ValidTimes("born", key="name", type="timestamp")
    assert valid_times(tmp_path, "") is None


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ('valid = ["hired"]', "names 1 attributes; name two"),
        ('valid = ["hired", "born"]', "hired is date and born is timestamp; name two attributes"),
        ('valid = ["n", "n"]', "name two attributes of one type"),
        ('valid = ["hired", "lefton"]', "no column 'lefton'; did you mean 'left_on'?"),
        ('valid = ["name", "hired"]', "'name' is string, which is no time; allowed: int, bigint"),
        ('valid = ["hired", "left_on"]\nvalid_closed = 1', "valid_closed must be true or false"),
        ('valid_key = "name"', "valid_key needs a timestamp: readings hold from their time on"),
        ('timestamp = "born"\nvalid_key = "nam"', "no column 'nam'; did you mean 'name'?"),
        ('valid = ["hired", "left_on"]\nvalid_key = "name"', "keep valid or valid_key"),
    ],
)
def test_what_is_wrong_is_refused_in_a_sentence(tmp_path: Path, keys: str, sentence: str) -> None:
    with pytest.raises(WorkloadError) as refusal:
        valid_times(tmp_path, keys)
    assert sentence in str(refusal.value)
    assert "[streams.Jobs]" in str(refusal.value)


@pytest.mark.parametrize("is_closed", [False, True])
def test_tuples_that_are_valid_at_no_instant_are_kept_aside(is_closed: bool) -> None:
    schema = Schema(
        Schema.parse("n int, since bigint, until bigint").attributes,
        valid=ValidTimes("since", "until", is_closed, type="bigint"),
    )
    times = [(0, 1), (3, 3), (5, 4), (6, 9), (7, None)]
    tuples = pa.table(
        {
            "n": pa.array(range(5), pa.int32()),
            "since": pa.array([start for start, _ in times], pa.int64()),
            "until": pa.array([end for _, end in times], pa.int64()),
        }
    )
    read = PlannedOperator("S", StreamInput("S", (0,)), (), schema.attributes[:1])
    plan = NetworkPlan((read,), groups=(ShardGroup(("S",), {}, "no key"),))
    job = NetworkJob(plan, {"S": schema}, {"S": StreamTime(None)})
    step = advance(job, InputState(), {"S": [Arrived(tuples)]}, [])
    kept = [(aside.raw, aside.error) for aside in step.late["S"].kept_aside()]
    expected = [
        ('{"n": 1, "since": 3, "until": 3}', "its valid time [3, 3) is empty; until has to be"),
        ('{"n": 2, "since": 5, "until": 4}', "its valid time [5, 4) ends before it begins; until"),
        ('{"n": 4, "since": 7}', "its valid time has no until"),
    ]
    wanted = expected[is_closed:]
    assert [raw for raw, _ in kept] == [raw for raw, _ in wanted]
    assert all(error.startswith(begin) for (_, error), (_, begin) in zip(kept, wanted, strict=True))
    assert step.released.rows["S"].arrivals.tolist() == [0, *([1] if is_closed else []), 3]
    assert step.state.streams["S"].n_arrived == 5
