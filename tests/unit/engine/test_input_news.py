"""What the state of inputs is told of: a failure once, and each time one begins anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backend.engine.input_news import InputNews
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.schema import Schema
from backend.operators.contract import InputResult
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop

S = Schema.parse("a int")


def replayed(n_tuples: int, start: int = 0) -> InputSource:
    spec = StreamSpec("S", S, SourceSpec("memory", {}))
    return InputSource(spec, MemorySource([[a] for a in range(n_tuples)], S), start)


@given(n_tuples=st.integers(1, 9), start=st.integers(0, 30), more=st.integers(0, 40))
def test_rounds_are_the_first_tuples_that_follow_a_last_one(
    n_tuples: int, start: int, more: int
) -> None:
    taken = range(start, start + more)
    anew = sum(arrival > 0 and arrival % n_tuples == 0 for arrival in taken)
    assert replayed(n_tuples, start).rounds(start + more) == anew


def test_each_round_is_an_event_once() -> None:
    news = InputNews()
    told = [news.events({"S": InputResult(rounds=n)}) for n in (0, 0, 1, 1, 3)]
    assert [[event.kind for event in events] for events in told] == [[], [], ["loop"], [], ["loop"]]
    assert told[2][0].title == "stream S begins anew"
    assert "3 times" in told[4][0].detail


def test_a_failure_is_an_event_once() -> None:
    news = InputNews()
    (event,) = news.events({"S": InputResult(failure="no such file"), "T": InputResult()})
    assert (event.kind, event.severity, event.detail) == ("input", "error", "no such file")
    assert news.events({"S": InputResult(failure="no such file")}) == []
    assert news.failed == {"S": "no such file"}


def test_a_host_tells_how_often_its_input_began_anew() -> None:
    loop = FixedLoop({}, {("S", "at_end"): "loop"})
    host = LocalHost(loop, [replayed(10)], SinkSpec(None), 4)
    for _ in range(8):
        host.step()
    host.close()
    rounds = [result.inputs["S"].rounds for result in loop.results]
    arrivals = [4, 8, 12, 16, 20, 24, 28, 32]
    assert rounds == [(through - 1) // 10 for through in arrivals]
