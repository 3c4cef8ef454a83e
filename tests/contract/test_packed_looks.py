"""Looks come back from their bits as they went in, and other bits are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from storage.errors import WrongValue
from storage.reading.sql import SqlRefused
from storage.store import open_engine_writer, open_reader
from storage.tables.looks import OTHER_BYTES
from storage.tables.packed import (
    LogHead,
    PackedFacts,
    pack_look,
    pack_plan,
    unpack_look,
    unpack_plan,
)
from storage.vocabulary.looks import LookFacts, look_decision, look_terms
from storage.vocabulary.planlog import OMITTED, form_digest, price_step, stepped_price
from storage.vocabulary.records import Decision, Json
from tests.contract.store_builders import begin, record
from tests.golden import store_v4 as golden

PLANS: Final = [form_digest(n) for n in range(5)]
SCHEMA: Final = {"statistics": [["a", "prob"], ["b", "us/tuple"]], "cost_unit": "us/tuple"}
HEAD: Final = LogHead("asc", 7, form_digest(SCHEMA), SCHEMA, PLANS)

digits = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: float(f"{x:.6g}"))
numbers = st.one_of(digits, st.floats(allow_nan=False, allow_infinity=False), st.just(0.0))
counts = st.integers(0, 2**60)
steps = st.integers(-200, 200) | st.integers(-(10**6), 10**6)
offers = st.lists(
    st.tuples(numbers, counts, numbers, numbers, numbers), max_size=len(PLANS) - 1
)  # fmt: skip


@st.composite
def looks(draw: Callable[[Any], Any]) -> dict[str, Json]:
    """Records of any numbers; their costs are at times what the plan in force costs, less what is
    saved."""
    cost, rows, n_sample = draw(numbers), draw(offers), draw(counts)
    named = [[plan, *row] for plan, row in zip(PLANS[1:], rows, strict=False)]
    for row in draw(st.lists(st.sampled_from(named), max_size=4)) if named else []:
        row[1:3] = float(f"{max(0.0, cost - row[3]):.6g}"), n_sample // 2
    statistics = draw(st.tuples(numbers, numbers).map(list))
    if draw(st.booleans()):
        n_sample = draw(st.integers(1, 2000))
        cost, statistics = counted(draw, n_sample), [counted(draw, 20 * n_sample) for _ in "ab"]
        for row in named:
            squared, row[2] = draw(st.integers(0, 10**6)), draw(st.sampled_from([n_sample, 7]))
            row[3] = counted(draw, row[2])
            row[4] = float(f"{max(0.0, squared - row[3] ** 2 * row[2]):.6g}")
    for row in draw(st.lists(st.sampled_from(named), max_size=4)) if named else []:
        row[6:] = [draw(numbers)]
    rival = draw(st.sampled_from([row[0] for row in named])) if named else None
    number = draw(st.integers(1, 600))
    factor = draw(st.sampled_from([0, 200]))
    is_spelt = number == 1 or not number % 256
    made = {
        **{"number": number, "schema": SCHEMA if is_spelt else HEAD.digest, "began": 7},
        **{"t": draw(counts), "statistics": statistics},
        **{"plan": PLANS[0], "cost": cost, "offers": named, "caution": draw(numbers)},
        **{"switching": draw(numbers), "deciding": float(f"{factor * cost:.6g}")},
        **{"ran": [draw(counts), draw(numbers)], "n_sample": n_sample, "rival": rival},
        **{"chosen": draw(st.sampled_from([PLANS[0], rival or PLANS[0]]))},
        **{"saving": draw(st.none() | numbers), "region": draw(st.none() | st.integers(0, 99))},
        **{"dwell": draw(numbers), "due": draw(st.none() | st.integers(0, 10**12))},
        **{name: draw(st.booleans()) for name in ("replaced", "is_transient", "known")},
        "settling": draw(st.just(0) | counts),
        "prices": draw(st.dictionaries(st.sampled_from(PLANS), steps)),
        "past": [list(row) for row in sorted(draw(st.dictionaries(counts, steps)).items())],
    }
    if not number % 256:
        made["state"] = {"log": [1.5, None, "ä"]}
    return {key: value for key, value in made.items() if value or key not in OMITTED}


def counted(draw: Callable[[Any], Any], n: int) -> float:
    """A number that was counted on so many tuples."""
    return float(f"{draw(st.integers(-(10**5), 10**5)) / n:.6g}")


@given(looks(), st.tuples(st.sampled_from(["asc", "ä", ""]), counts, counts))
def test_looks_come_back_as_they_were(look: dict[str, Json], facts: tuple[str, int, int]) -> None:
    if not math.isfinite(look["cost"] * 200):
        return
    name, version, knobs = facts
    packed = pack_look(look, PackedFacts(name or "asc", version, knobs), HEAD)
    assert unpack_look(packed, HEAD) == (look, PackedFacts(name or "asc", version, knobs))


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_a_price_comes_back_within_half_a_percent(price: float, present: float) -> None:
    step = price_step(price, present)
    assert step is not None
    assert stepped_price(step, present) == pytest.approx(price, rel=0.005)
    assert price_step(0.0, present) is price_step(price, 0.0) is None


def test_what_was_counted_takes_few_bits() -> None:
    """Half of the bytes of numbers that six digits hold, and no ratio or whole numbers."""

    def size(off: float) -> int:
        plans = [[plan, 1.5, 256, 0.25 + off, 96.0 + off, 3.0] for plan in PLANS[1:]]
        made = {
            **{"number": 2, "schema": HEAD.digest, "began": 7, "t": 9, "n_sample": 512},
            **{"plan": PLANS[0], "cost": 1.75 + off, "offers": plans, "caution": 1.0},
            **{"statistics": [0.125 + off, 0.375 + off], "switching": 0.0, "deciding": 0.0},
            **{"ran": [2000, 3500.0], "rival": None, "chosen": PLANS[0], "saving": None},
            **{"region": None, "dwell": 0.0, "due": None},
        }
        packed = pack_look(made, PackedFacts("asc", 1, 0), HEAD)
        assert unpack_look(packed, HEAD)[0] == made
        return len(packed)

    assert size(0.0) < 0.6 * size(0.00011)


forms = st.recursive(
    st.sampled_from(["a", "b", "early drop"]) | st.integers() | st.text() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(forms, forms)
def test_plans_come_back_as_they_were(first: Json, form: Json) -> None:
    assert unpack_plan(pack_plan(first, None), None) == first
    if first is not None:
        assert unpack_plan(pack_plan(form, first), first) == form


@given(looks(), st.data())
def test_bits_that_end_too_soon_or_are_of_another_version_are_refused(
    look: dict[str, Json], data: st.DataObject
) -> None:
    look = {key: value for key, value in look.items() if key != "state"}
    packed = pack_look(look, PackedFacts("asc", 1, 0), HEAD)
    end = data.draw(st.integers(0, len(packed) - 1))
    for other in (packed[:end], bytes([packed[0] ^ 0xF]) + packed[1:]):
        with pytest.raises(OTHER_BYTES):
            unpack_look(other, HEAD)


def look_of(number: int, chosen: bool = False) -> Decision:
    """Looks of one log after another, of which only the first says what it is of."""
    made = {**golden.RECORD, "number": number, "t": 1600 * number}
    if number > 1:
        made = {**made, "schema": form_digest(golden.SCHEMA)}
        del made["plans"]
    if chosen:
        made["chosen"] = made["rival"]
    terms = look_terms(made, "visits/tuple", golden.FORMS)
    facts = LookFacts("asc", number, number, 2, 1)
    return replace(look_decision(made, terms, facts), unit_id="u")


def test_looks_are_read_as_the_decisions_they_are(tmp_path: Path) -> None:
    """Those that switched have a row among decisions, the others have not; both are whole."""
    wanted = [look_of(number, number % 3 == 0) for number in range(1, 7)]
    path = str(tmp_path / "run.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        begin(writer)
        for decision in wanted:
            batch = replace(record(decision.batch), decisions=(decision,))
            writer.write_batch(batch)
            writer.write_batch(batch)
        plain = [json.loads(json.dumps(asdict(each))) for each in wanted]
        read = [asdict(entry.decision) for entry in reader.decisions("r1")][::-1]
        assert read == plain
        for before in range(8):
            older = reader.decisions("r1", before_seq=before, limit=2)
            assert [e.decision.seq for e in older] == [*range(before - 1, 0, -1)][:2]
        with reader.reading() as connection:
            rows = connection.execute(text("SELECT seq, detail FROM decisions")).all()
        assert [row[0] for row in rows] == [3, 6]
        assert not any("plan_log" in row[1] for row in rows)
        records = [look.record for look in reader.looks("r1")]
        assert records == [{**d["detail"]["plan_log"], "schema": golden.SCHEMA} for d in plain]
        assert [look.seq for look in reader.looks("r1", until=4, limit=2)] == [3, 4]
        counts = reader.decision_counts("r1", until=4)
        assert (counts.evaluated, counts.stored) == (4, 4)
        reader.export_run("r1", tmp_path / "copy.db")
        with open_reader(str(tmp_path / "copy.db")) as copy:
            assert copy.looks("r1") == reader.looks("r1")
            assert copy.decisions("r1") == reader.decisions("r1")


def test_a_look_that_says_more_than_its_numbers_keeps_its_decision(tmp_path: Path) -> None:
    odd = replace(look_of(1), explanation="for a reason of its own")
    path = str(tmp_path / "run.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        begin(writer)
        writer.write_batch(replace(record(1), decisions=(odd,)))
        (entry,) = reader.decisions("r1")
        assert asdict(entry.decision) == json.loads(json.dumps(asdict(odd)))
        assert len(reader.looks("r1")) == 1


@pytest.mark.parametrize(("table", "column"), [("looks", "packed"), ("plans", "form")])
def test_other_bytes_are_told_by_table_and_row(tmp_path: Path, table: str, column: str) -> None:
    path = str(tmp_path / "run.db")
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        begin(writer)
        writer.write_batch(replace(record(1), decisions=(look_of(1),)))
        with writer._engine.begin() as connection:
            connection.execute(text(f"UPDATE plan_log_{table} SET {column} = x'ff'"))
        with pytest.raises(WrongValue, match=f"table plan_log_{table}, row .*column {column}"):
            reader.looks("r1")


def test_queries_of_people_find_the_numbers_spelt_out(new_store: Callable[[], str]) -> None:
    path = new_store()
    with open_engine_writer(path) as writer, open_reader(path) as reader:
        begin(writer)
        for number in (1, 2, 3):
            look = look_of(number, number == 3)
            writer.write_batch(replace(record(number), decisions=(look,)))
        asked = "SELECT decision, statistics, form, switched, predicted, measured FROM plan_log"
        answer = reader.ask(f"{asked} WHERE run_id = :run ORDER BY decision", {"run": "r1"})
        present, rival = (json.dumps(f, separators=(",", ":")) for f in golden.FORMS.values())
        s = '{"selectivity origin":0.512345}'
        assert answer.rows == [
            (1, s, present, 0, 1.9, 1.9),
            (2, s, present, 0, 1.9, 1.9),
            (3, s, rival, 1, 1.75, None),
        ]
        with pytest.raises(SqlRefused):
            reader.ask("DELETE FROM plan_log", {})
        assert reader.ask("SELECT count(*) FROM plan_log_looks", {}).rows == [(3,)]
