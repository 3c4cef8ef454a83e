"""What autopilots look for next, on the page of a system, of a run with an eddy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.base.face import faces
from dashboard.panels.common.headroom import build_looks, draw
from dashboard.panels.contract import PanelScope, RunFacts, Sheet
from dashboard.systems.amri.bits_view import PARTITIONS
from storage.vocabulary.planlog import BY_AUTOPILOT, LOOK
from tests.engine_runs import RUN_ID
from tests.unit.engine.test_index_pilots import ran


def test_each_state_has_the_newest_look_of_its_autopilot(tmp_path: Path) -> None:
    """As the newest 300 decisions have them, routes and migrations among them."""
    reader = ran(tmp_path / "s.db", "bitmap").reader
    context = replace(contexts.resolve(reader, Moment(run=RUN_ID)), theme="light")
    (unit,) = reader.units(RUN_ID, None)
    scope = PanelScope(unit.id, (unit,))
    lines = build_looks(reader, context, scope)
    assert lines is not None
    newest: dict[str, int] = {}
    for entry in reader.decisions(RUN_ID, limit=300, unit=unit.id)[::-1]:
        if entry.decision.kind == LOOK:
            newest[str(entry.decision.detail["subject"])] = entry.decision.seq
    about = {f"{line.about}{BY_AUTOPILOT}": line.seq for line in lines}
    assert about == newest
    assert len(about) == 3
    assert [line.about for line in lines] == sorted(line.about for line in lines)
    assert all("ext look" in line.words or "has to save" in line.words for line in lines)
    drawn = str(draw(lines, Sheet(context)).body)
    assert lines[0].about in drawn
    earlier = replace(context, batch=-1)
    assert build_looks(reader, earlier, scope) is None


def test_pages_of_systems_are_not_for_runs_whose_autopilots_are_of_others() -> None:
    """Each run of selections has looks; a page of another system would be empty there."""
    facts = RunFacts(running=True, decided=True, looked=True)
    own = [page for face in faces() for page in face.pages]
    assert not [page.path for page in own if page.has_records(facts)]
    amri = replace(facts, matrices=frozenset({PARTITIONS}))
    assert "/index-bits" in [page.path for page in own if page.has_records(amri)]
