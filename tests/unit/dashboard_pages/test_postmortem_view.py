"""The story of a run: what it says, what it does not claim, and the file that tells it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dashboard.report import page_of, postmortem
from dashboard.report.postmortem import records_of, story_of
from dashboard.views.postmortem import tell
from storage.store import Reader, open_command_writer, open_engine_writer, open_reader
from storage.tables.rows import DecisionEntry, StoredEvent
from storage.vocabulary.records import Command, DecisionOutcome, Event
from tests.contract.store_builders import START, batch, decision, new_run
from tests.web.recorded import record


def event(at: int, kind: str, title: str, **ref: int) -> StoredEvent:
    return StoredEvent(at, at, START + at, Event(kind, title, ref=ref))


def switch(seq: int, at: int, new: float, old: float, n: int) -> DecisionEntry:
    found = decision(seq, at, "switched")
    return DecisionEntry(found, 0.0, DecisionOutcome(seq, at + 5, new, 900, new, old, n))


def told(events: list[StoredEvent], *switches: DecisionEntry) -> list[tuple[str, str]]:
    story = tell(new_run(), (batch(0), batch(99)), events, switches, (), "", {})
    return [(one.text, one.aside) for one in story.sentences]


def test_a_switch_tells_what_it_brought_on_the_same_tuples() -> None:
    events = [event(20, "rearrangement", "Plan 2: b before a", decision=4)]
    ((text, aside),) = told(events, switch(4, 20, 3.0, 4.0, 240))
    assert text.startswith("Plan 2: b before a, in force from batch 21; reason: because; it saved")
    assert "it saved 1.00 visits per tuple" in text
    assert "3.00 against 4.00 of the plan before, on the same 240 sampled tuples" in text
    assert aside == ""
    ((text, _),) = told(events, switch(4, 20, 4.5, 4.0, 240))
    assert "it cost 0.50" in text
    ((text, _),) = told(events, switch(4, 20, 4.221, 4.223, 240))
    assert "it brought nothing (4.22 visits per tuple, as the plan before, on the same 240" in text
    ((text, _),) = told(events, switch(4, 20, 0.0021, 0.0042, 240))
    assert "it saved 0.002 visits per tuple (0.0021 against 0.0042 of the plan before" in text
    ((text, _),) = told(events, switch(4, 20, 3.0, 4.0, 7))
    assert "not enough samples to say what it brought (n = 7)" in text


def test_reasons_call_a_knob_what_its_card_does() -> None:
    events = [event(20, "rearrangement", "Plan 2: b before a", decision=4)]
    entry = switch(4, 20, 3.0, 4.0, 240)
    entry = replace(entry, decision=replace(entry.decision, explanation="moved, mu = 0.05"))
    ((text, _),) = told(events, entry)
    assert "reason: moved, Threshold μ = 0.05; it saved" in text


def test_a_plan_that_was_kept_is_no_better_one_that_was_passed_over() -> None:
    verdicts = ["kept", "kept", "kept", "cooldown"]
    events = [event(at, "held back", verdict) for at, verdict in enumerate(verdicts)]
    story = tell(new_run(), (batch(0), batch(99)), events, (), (), "", {})
    assert story.opening[1].text == (
        "The plan never changed; another was built and was not better by enough 3 times; "
        "a change waited for the cool-down once."
    )


@pytest.mark.parametrize(("gap", "said"), [(0, True), (3, True), (6, False)])
def test_what_only_follows_is_called_a_correlation(gap: int, said: bool) -> None:
    events = [event(10, "knob", "mu 0.1 → 0.3"), event(10 + gap, "rearrangement", "Plan 2")]
    (_, (_, aside)) = told(events)
    assert ("a correlation, the record names no cause" in aside) == said
    assert ("“mu 0.1 → 0.3”" in aside) == said


def test_notes_stand_where_they_were_pinned() -> None:
    body = {"name": "the feed was changed", "body": {"batch": 30}}
    note = Command(9, "r1", "note", body, "page 127.0.0.1", "", START + 500)
    events = [event(10, "query", "q registered"), event(40, "query", "q removed")]
    story = tell(
        new_run(), (batch(0), batch(99)), events, (), [note], "saved 3 visits (estimated)", {}
    )
    assert [one.kind for one in story.sentences] == ["query", "note", "query"]
    assert story.sentences[1].text == "page 127.0.0.1 noted: the feed was changed"
    whole, changed, people, saved = story.opening
    assert saved == ("Adapting saved 3 visits (estimated).", "/plan")
    assert whole.path == "/timeline"
    assert changed == ("The plan never changed.", "/decisions")
    assert people == ("People turned no knob and changed queries twice.", "/knobs")
    empty = tell(replace(new_run(), state="failed"), None, (), (), (), "", {})
    assert [one.text for one in empty.opening] == ["Run r1 of flights recorded no batch."]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = str(tmp_path_factory.mktemp("told") / "run.db")
    with open_engine_writer(path) as writer:
        record(writer, "r1", 120, START)
    with open_command_writer(path) as commands:
        body = {"name": "</script><b>odd</b>", "body": {"batch": 3}}
        commands.append_command("r1", "note", body, "page", "", START)
    with open_reader(path) as opened:
        yield opened


def test_the_story_up_to_a_moment_knows_nothing_later(reader: Reader) -> None:
    run = reader.run("r1")
    assert run is not None
    early = story_of(reader, run, 50)
    assert max(one.batch for one in early.sentences) <= 50
    assert len(story_of(reader, run).sentences) > len(early.sentences)


def test_the_file_holds_everything_and_asks_for_nothing(reader: Reader) -> None:
    run = reader.run("r1")
    assert run is not None
    page = page_of(records_of(reader, run))
    assert not re.search(r"(src|href)=|url\((?!#)|@import|fetch\(|import\(", page)
    assert page.count("</script>") == 2, "no text of a person ends the data"
    data = re.search(r'id="records">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    found = json.loads(data[1])
    assert {plan["version"] for plan in found["plans"]} == {1, 2, 3}
    assert any("odd" in one["text"] for one in found["sentences"])
    assert len(found["lines"]) == 4


def test_the_file_has_each_graph_once_and_the_newest_plans(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = reader.run("r1")
    assert run is not None
    found = records_of(reader, run)
    plans, graphs = found["plans"], found["graphs"]
    assert {plan["graph"] for plan in plans} == set(range(len(graphs)))
    assert len({json.dumps(graph) for graph in graphs}) == len(graphs)
    for plan in plans:
        ids = {node["id"] for node in graphs[plan["graph"]]["nodes"]}
        assert set(plan["order"]) <= ids
    assert found["left_out"].startswith("It has ") == (
        reader.decision_counts("r1").evaluated > len(found["decisions"])
    )
    monkeypatch.setattr(postmortem, "MOST_PLAN_BYTES", 1)
    monkeypatch.setattr(postmortem, "MOST_POINTS", 1)
    monkeypatch.setattr(postmortem, "LONGEST_TEXT", 9)
    less = records_of(reader, run)
    assert [one["version"] for one in less["plans"]] == [plans[-1]["version"]]
    assert f"plans since batch {plans[-1]['batch']}" in less["left_out"]
    assert len(less["frames"]) <= postmortem.FEWEST_POINTS + len(less["plans"])
    assert max(len(one["text"]) for one in less["sentences"]) == 9 + len("…")
    assert len(page_of(less)) < len(page_of(found))


def test_the_file_has_numbers_of_batches_and_no_means(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = reader.run("r1")
    assert run is not None
    monkeypatch.setattr(postmortem, "PART_POINTS", 10)
    found = records_of(reader, run)
    assert found["frames"][-1] == reader.last_batch("r1")
    assert len(found["frames"]) <= 10 + len(found["plans"])
    for place, batch_id in enumerate(found["frames"]):
        values = reader.values("r1", batch_id)
        for one in found["parts"]:
            told = values.get(one["part"], {}).get(one["name"])
            assert one["value"][place] == (None if told is None else float(f"{told:.5g}"))
