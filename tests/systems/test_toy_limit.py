"""The thinning core: what drops tuples is a limit, and what it learns outlasts a kill at any batch.

What stands in for its lines in SYSTEMS, VOCABULARIES and the makers of operators is in the fixtures
here.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from backend.model.ids import entity_id
from backend.model.knobs import KnobSettings
from backend.operators.network.shards import making
from backend.systems.cores import NetworkRan
from backend.systems.registry import SYSTEMS
from backend.systems.stream.chains.core import CHAINS
from backend.systems.stream.system import NetworkSystem
from backend.systems.stream.unit import NetworkUnit
from storage.vocabulary import registry
from storage.vocabulary.properties import joined
from tests.engine_runs import RUN_ID, EngineRun
from tests.systems.running import SCHEMA, tuples
from tests.systems.toy_limit.core import CORE, OTHER, ThinKnobs, Thinning
from tests.systems.toy_limit.operator import ThinOp, ThinOperator
from tests.systems.toy_limit.vocabulary import THINNING
from tests.unit.engine.test_named_systems import answers

TOY = NetworkSystem("thinning", CORE.title, (CHAINS, CORE), needs=CORE)
BOTH = NetworkSystem("both", "Two cores", (CORE, OTHER), needs=CORE)
UNIT = "thinning.network"
TEXT = "Select Istream(b, c) From S [Now] Where a < 90"
#: What is turned before a batch.
TURNS = {2: 7, 14: 3, 19: 0, 28: 5, 37: 2}
N_BATCHES, N_KILLS, SIZE = 44, 26, 30
Kill = Literal["", "between", "inside"]
KINDS: tuple[Kill, ...] = ("between", "inside")


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "KNOWN", joined((*registry.VOCABULARIES, THINNING)))
        makers: dict[Any, Any] = {**making._MAKERS, ThinOp: ThinOperator}
        patch.setattr(making, "_MAKERS", makers)
        yield


class ThinRun(EngineRun):
    """Batches of one stream, of which a query drops some."""

    def __init__(self, folder: Path, continues: bool = False) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(
            folder / "store.db",
            {"S": SCHEMA},
            {"plain": "Select a From S Where a > 90"},
            sink=folder / "out",
            continues=continues,
            systems=(*SYSTEMS, TOY, BOTH),
            state=folder / "state",
        )

    def begin(self) -> None:
        """What is asked for before the next batch."""
        if self.batch_id in TURNS:
            (part,) = self.core.parts()
            payload = {"knob": "drop_every", "value": TURNS[self.batch_id], "scope": part}
            self.ask("knob", payload)
        if not self.batch_id:
            self.ask("query_add", {"name": "thin", "text": TEXT, "system": "thinning"})

    @property
    def unit(self) -> NetworkUnit:
        return cast(NetworkUnit, self.loop.unit(UNIT))

    @property
    def core(self) -> Thinning:
        (core,) = (core for core in self.unit.cores if isinstance(core, Thinning))
        return core

    def told(self) -> list[tuple[int, str, str]]:
        """Events of the unit: batch, kind, title."""
        events = [e for e in self.reader.events(RUN_ID) if e.event.unit_id == UNIT]
        kinds = ("thinned", "exactness")
        return sorted(
            (e.batch, e.event.kind, e.event.title) for e in events if e.event.kind in kinds
        )

    def inexact(self) -> list[int]:
        """Batches whose answers are marked as approximate."""
        series = self.reader.series(RUN_ID, entity_id(UNIT, "query", "thin"), "inexact")
        return [] if series is None else series.batch.tolist()


def step(run: ThinRun, folder: Path, kill: Kill = "") -> ThinRun:
    """A batch, before or within which the run is killed, and goes on on another machine."""
    rows = tuples(SIZE, run.batch_id)
    if kill == "between":
        run.kill()
        run = ThinRun(folder, continues=True)
    run.begin()
    if kill == "inside":
        run.executed({"S": rows}, run.batch_id)
        run.kill()
        run = ThinRun(folder, continues=True)
    run.batch(rows)
    return run


def test_killed_at_random_batches_it_drops_and_counts_as_if_it_had_not_been(tmp_path: Path) -> None:
    rng = random.Random(7)
    kills: dict[int, Kill] = {
        batch: rng.choice(KINDS) for batch in rng.sample(range(1, N_BATCHES), N_KILLS)
    }
    alone, run = ThinRun(tmp_path / "alone"), ThinRun(tmp_path / "killed")
    for batch in range(N_BATCHES):
        alone = step(alone, tmp_path / "alone")
        run = step(run, tmp_path / "killed", kills.get(batch, ""))
        assert run.core.seen == alone.core.seen, batch
        assert run.unit.inexact == alone.unit.inexact, batch
    assert answers(tmp_path / "killed", "thin") == answers(tmp_path / "alone", "thin")
    assert run.inexact() == alone.inexact() == [*range(2, 19), *range(28, N_BATCHES)]
    assert run.told() == alone.told()
    assert Counter(kind for _, kind, _ in run.told())["exactness"] == 3
    run.close()
    alone.close()


def test_it_sees_time_backlog_and_its_own_memory(tmp_path: Path) -> None:
    run = step(ThinRun(tmp_path), tmp_path)
    result = run.executed({"S": tuples(SIZE, 1)}, 1)
    waiting = {name: replace(input, backlog_tuples=12) for name, input in result.inputs.items()}
    before = run.core.ran
    run.loop.end_batch(replace(result, inputs=waiting))
    assert before is not None
    assert before.backlog == {}
    assert isinstance(run.core.ran, NetworkRan)
    assert run.core.ran.backlog == {"S": 12}
    assert run.core.ran.ms > before.ms > 0
    assert list(run.core.pages.values()) == [None]
    run.ask("knob", {"knob": "run_pool_bytes", "value": 1})
    run.batch_id = 2
    run.batch(tuples(SIZE, 2))
    assert list(run.core.pages.values()) == [0]
    run.close()


def test_two_cores_on_one_operator_are_refused_by_name(tmp_path: Path) -> None:
    run = ThinRun(tmp_path)
    asked = run.ask("query_add", {"name": "twice", "text": TEXT, "system": "both"})
    run.batch(tuples(SIZE, 0))
    answer = run.answer(asked)
    assert answer.state == "refused"
    assert "thinned is claimed by Thinning and by Thinning, too" in answer.answer
    run.close()


def test_a_core_decides_on_what_it_claims_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = step(ThinRun(tmp_path), tmp_path)
    monkeypatch.setattr(run.unit, "_claims", [frozenset(), frozenset()])
    (part,) = run.core.parts()
    run.unit.part_turned(part, KnobSettings.defaults(ThinKnobs.specs()))
    with pytest.raises(ValueError, match=r"Thinning decides on .*, which it does not claim"):
        run.unit.operator(1)
    run.close()
