"""Compare on recorded stores: numbers for any length, what both have, a pair to begin with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dashboard.base.context import Moment, resolve
from dashboard.panels.common.compare import asked_for, build, draw
from dashboard.panels.common.compare_parts import ComparedView
from dashboard.panels.contract import PanelScope, Sheet
from dashboard.views.compare import ComparedPair, ComparedStretch
from dashboard.views.numbers import FEWEST
from storage.reader import Reader, open_reader
from storage.vocabulary.records import BatchRecord, Decision, PlanVersion, Sample
from storage.writer import EngineWriter, open_engine_writer
from tests.contract.store_builders import START, SYSTEM, batch, decision, new_run, plan
from tests.unit.dashboard_pages.test_pages import as_text

LONG, SHORT = 1003, 209


def visits(number: int) -> float:
    """Batch 0 is dear: without it the mean is another."""
    return 5.0 if number == 0 else 3.0 + (number % 7) / 10


def written(
    writer: EngineWriter,
    run: str,
    n: int,
    factor: float = 1.0,
    plans: tuple[PlanVersion, ...] = (),
    decisions: tuple[Decision, ...] = (),
    started: float = START,
) -> None:
    writer.begin_run(new_run(run, started), (SYSTEM,))
    for number in range(n):
        told = (Sample("system", "visits_per_tuple", factor * visits(number), "visits/tuple"),)
        record = BatchRecord(run, batch(number), samples=told)
        if number == 0:
            record = replace(record, plans=plans, decisions=decisions)
        writer.write_batch(record)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A short run, and a long one that needs a tenth more."""
    path = str(tmp_path_factory.mktemp("compared") / "planwatch.db")
    with open_engine_writer(path) as writer:
        written(writer, "short", SHORT)
        written(writer, "long", LONG, 1.1)
    return path


@pytest.fixture
def reader(path: str) -> Iterator[Reader]:
    with open_reader(path) as reader:
        yield reader


def compared(reader: Reader, show: str) -> ComparedView:
    context = resolve(reader, Moment("long", show=show))
    return build(reader, context, PanelScope())


def said(reader: Reader, view: ComparedView) -> str:
    drawn = draw(view, Sheet(resolve(reader, Moment("long"))))
    return as_text(drawn.body) + as_text(drawn.foot)


@pytest.mark.parametrize("last", [900, 1002, ""])
def test_a_long_stretch_has_its_interval_and_keeps_the_first_batch(
    reader: Reader, last: object
) -> None:
    view = compared(reader, f"short,0,~long,0,{last}~batch")
    (line,) = view.lines
    share = line.change.share
    assert share is not None
    mean = sum(map(visits, range(SHORT))) / SHORT
    assert (line.mean_a, line.mean_b) == pytest.approx((mean, 1.1 * mean))
    assert share.low < share.mean == pytest.approx(0.1)
    assert view.common is not None
    assert (view.common.a, view.common.b.last) == (ComparedStretch("short", 0, 208), 208)
    words = said(reader, view)
    assert "of the 209 batches that both have" in words
    assert "+10.0 %" in words
    assert "not enough" not in words


def test_both_long_have_an_interval_as_narrow_as_their_length_allows(reader: Reader) -> None:
    halves = [compared(reader, f"long,0,{n}~long,0,{n}~batch").lines[0] for n in (990, 1002)]
    widths = [line.change.share.high for line in halves if line.change.share is not None]
    assert len(widths) == 2
    assert widths[1] < 1.2 * widths[0]


def test_rolled_up_stretches_have_an_interval(tmp_path: Path) -> None:
    path = str(tmp_path / "planwatch.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        written(writer, "short", SHORT)
        written(writer, "long", LONG, 1.1)
        for run in ("short", "long"):
            assert writer.retention(run, START + LONG, keep_raw_s=0.0)
        for last in (208, 29):
            view = compared(reader, f"short,0,{last}~long,0,{last}~batch")
            share = view.lines[0].change.share
            assert share is not None
            assert share.low < share.mean == pytest.approx(0.1, abs=0.01)
            assert view.common is not None
            assert view.common.first == 0


def test_a_stretch_without_batches_says_so(reader: Reader) -> None:
    view = compared(reader, "short,500,~long,0,~batch")
    assert view.common is None
    assert view.lines[0].mean_b is None
    assert "there is nothing to compare" in said(reader, view)


def test_a_pair_that_can_be_compared_is_chosen(tmp_path: Path) -> None:
    path = str(tmp_path / "planwatch.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        written(writer, "old", 20, started=START)
        written(writer, "here", 20, started=START + 1)
        written(writer, "empty", 0, started=START + 2)
        written(writer, "brief", FEWEST - 1, started=START + 3)
        here, brief = (
            asked_for(reader, resolve(reader, Moment(name))) for name in ("here", "brief")
        )
    assert here == ComparedPair(ComparedStretch("old"), ComparedStretch("here"))
    assert brief.a.run == brief.b.run == "brief"


@pytest.mark.parametrize(
    ("seqs", "words"),
    [
        ((1, 1), "Plans at the end: the same<"),
        ((1, 0), "Plans at the end: the same, reached by other rearrangements<"),
    ],
)
def test_plans_that_end_alike_are_not_called_the_same_way(
    tmp_path: Path, seqs: tuple[int, int], words: str
) -> None:
    path = str(tmp_path / "planwatch.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        for run, n in zip(("short", "long"), seqs, strict=True):
            switched = tuple(decision(seq, 0, "switched") for seq in range(1, n + 1))
            written(writer, run, 9, plans=(plan(1, 0),), decisions=switched)
        found = said(reader, compared(reader, "short,0,~long,0,~batch"))
    assert words.rstrip("<") in found
    assert ("reached by" in found) == ("reached by" in words)


def test_plans_are_those_at_the_end_of_what_both_have(tmp_path: Path) -> None:
    path = str(tmp_path / "planwatch.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        written(writer, "short", 9, plans=(plan(1, 0),))
        later = PlanVersion(2, 12, "early drop", ("asc:b",), {}, "h2", "why")
        written(writer, "long", 20, plans=(plan(1, 0), later))
        (found,) = compared(reader, "short,0,~long,0,~batch").plans
    assert found.a == found.b == ["asc:a"]
