"""What caches and changes of a plan are said to save: one number on all pages, and true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import plotly
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.base import context as contexts
from dashboard.base.context import Context, Moment
from dashboard.pages.headline import _cost, draw_headline
from dashboard.pages.plan_facts import read
from dashboard.panels.contract import PanelScope
from dashboard.report.postmortem import story_of
from dashboard.systems.joins import caches, ledger
from dashboard.views.decision_costs import saved_words
from dashboard.views.decisions import saved_per_1000
from dashboard.views.saved import changed, last_batches, saved
from storage.reader import Reader
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import DecisionOutcome
from tests.unit.dashboard_pages.test_decisions_view import a_decision
from tests.web.joins_run import JoinsRun

RUN, N_BATCHES = "keys", 14
COSTS = st.floats(0.001, 1e6)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """The store of a run of the engine, with caches in use."""
    run = JoinsRun(tmp_path_factory.mktemp("saved") / "planwatch.db", RUN).ticks(N_BATCHES)
    yield run.reader
    run.close()


def at(reader: Reader, batch: int) -> Context:
    return contexts.resolve(reader, Moment(run=RUN, at=batch))


def headline(reader: Reader, batch: int) -> str:
    context = at(reader, batch)
    facts = read(reader, context)
    drawn = draw_headline(reader, context, facts.units, facts.values)
    return json.dumps(drawn, cls=plotly.utils.PlotlyJSONEncoder, ensure_ascii=False)


def pool_values(reader: Reader, name: str, first: int, last: int) -> list[float]:
    """A number of the pool, batch by batch, each batch asked for by itself."""
    (pool,) = (one.id for one in reader.entities(RUN, last) if one.role == "pool")
    read_one = (reader.values(RUN, batch)[pool][name] for batch in range(first, last + 1))
    return [value for value in read_one if value is not None]


@pytest.mark.parametrize("batch", [3, 9, N_BATCHES - 1])
def test_pages_say_one_number_of_one_stretch_and_it_is_that_of_the_store(
    reader: Reader, batch: int
) -> None:
    context, first = at(reader, batch), max(0, batch - 9)
    plain, cached = (
        sum(pool_values(reader, name, first, batch)) for name in ("plain_cost", "cached_cost")
    )
    share = f"{100 * (plain - cached) / plain:.0f}\u2009%"
    stretch = f"last {batch - first + 1} batches"
    (join,) = caches.build(reader, context, PanelScope()) or []
    assert join.verdict == f"Caches save {share}"
    assert join.saving is not None
    assert join.saving.stretch == stretch
    words = headline(reader, batch)
    assert "Caches save" in words
    assert share in words
    assert f"{stretch}{join.saving.interval}" in words


def test_what_caches_saved_in_all_is_one_number_too(reader: Reader) -> None:
    last = N_BATCHES - 1
    spent, plain, best = (
        pool_values(reader, f"caching_{name}_total", last, last)[0]
        for name in ("spent", "plain", "best")
    )
    words = f"saved {100 * (plain - spent) / plain:.0f}\u2009% of the cost without caches"
    (join,) = ledger.build(reader, at(reader, last), PanelScope()) or []
    assert join.verdict[0].startswith(f"{words} since the run began; ")
    assert min(row.regret for row in join.rows) >= 0
    assert ("no dearer than" in join.verdict[0]) == (spent - best < 0.0005 * plain)
    run = reader.run(RUN)
    assert run is not None
    told = [line.text for line in story_of(reader, run, last).opening]
    assert f"Adapting {words} since the run began (by the estimates of each batch)." in told


def test_before_there_are_two_batches_nothing_is_claimed(reader: Reader) -> None:
    assert not re.search("Caches (save|lose)", headline(reader, 0))
    (join,) = caches.build(reader, at(reader, 0), PanelScope()) or []
    assert join.verdict == "Not measured yet"


@given(st.lists(st.tuples(COSTS, COSTS), min_size=2, max_size=30))
def test_the_share_is_that_of_the_sums_and_lies_in_its_interval(
    pairs: list[tuple[float, float]],
) -> None:
    costs, others = ([pair[side] for pair in pairs] for side in (0, 1))
    found = saved(costs, others, last_batches(len(pairs)))
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.share <= found.high
    assert (1 - found.share) * sum(others) == pytest.approx(sum(costs))
    claims = found.effect != "nothing"
    assert not claims or found.low > 0 or found.high < 0


def test_nothing_is_saved_of_nothing_and_noise_is_nothing() -> None:
    assert saved([], [], "") is None
    assert saved([1.0], [0.0], "") is None
    assert saved([float("nan")], [2.0], "") is None
    noise = saved([1.0 - 1e-12], [1.0], "")
    assert noise is not None
    assert noise.effect == "nothing"


@pytest.mark.parametrize(
    ("old", "new", "is_measured", "unit", "words"),
    [
        (4.0, 3.0, True, "", ", 4.00 → 3.00 visits per tuple"),
        (4.0, 3.0, False, "", ", 4.00 → 3.00 visits per tuple, predicted"),
        (
            4.2207, 4.2193, True, "",
            ", which brought nothing: 4.22 with it and without it, visits per tuple",
        ),
        (4.22, 4.22, False, "", ", which is predicted to bring nothing: 4.22 with"),
        (0.15, 0.2, True, "us per tuple", ", which cost more: 0.15 → 0.20 µs per tuple"),
        (0.15, 0.2, False, "us per tuple", ", which is predicted to cost more: 0.15 → 0.20 µs"),
        (1024.0, 2048.0, True, "bytes", ", which holds more: 1\u2009KiB → 2\u2009KiB"),
        (0.0042, 0.0021, True, "", ", 0.0042 → 0.0021 visits per tuple"),
    ],
)  # fmt: skip
def test_the_headline_never_honours_a_change_that_brought_nothing_or_harm(
    old: float, new: float, is_measured: bool, unit: str, words: str
) -> None:
    outcome = DecisionOutcome(5, 15, new, 5000, new, old, 250) if is_measured else None
    detail = {"cost_unit": unit} if unit else {}
    made = a_decision(predicted_old=old, predicted_new=new, detail=detail)
    entry = DecisionEntry(made, 0.0, outcome)
    assert _cost(entry).startswith(words)
    if is_measured and unit != "bytes":
        said = saved_words(saved_per_1000(entry), outcome)
        assert said.startswith("lost") == (changed(old, new)[0] == "cost")


def test_a_card_calls_no_saving_what_reads_nought() -> None:
    outcome = DecisionOutcome(5, 15, 4.0, 5000, 4.0, 4.0001, 250)
    entry = DecisionEntry(a_decision(), 0.0, outcome)
    basis = "(estimated on 250 sampled tuples)"
    assert saved_words(saved_per_1000(entry), outcome) == f"brought nothing {basis}"
