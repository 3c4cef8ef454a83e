"""Joins that keep less on the Shedding page: what each input loses, as it was at each moment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.engine_runs import RUN_ID
from tests.unit.engine.test_retained_joins import RULES, RetainedRun
from tests.web.axe import violations
from tests.web.conftest import OpenPage
from tests.web.site import served

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard on a run whose join went from rule to rule."""
    run = RetainedRun(tmp_path_factory.mktemp("retained") / "run", turns=RULES)
    for _ in range(6):
        run.step()
    with served(run.path) as address:
        yield address
    run.close()


def test_each_input_says_what_its_loss_costs_and_why(open_page: OpenPage, url: str) -> None:
    page = open_page(f"/shed?run={RUN_ID}&at=3", site_url=url)
    panel = page.locator("#pw-shed-joins")
    expect(panel).to_contain_text("pairs: 50.0\u2009% of the results are expected to be there.")
    rows = panel.locator("tbody tr")
    expect(rows).to_have_count(2)
    for row in rows.all():
        expect(row).to_contain_text("universe: keys that are not in the sample")
        expect(row).to_contain_text("50.0\u2009%")
    assert violations(page) == []
    page = open_page(f"/shed?run={RUN_ID}&at=5", site_url=url)
    row = page.locator("#pw-shed-joins tbody tr").first
    expect(row).to_contain_text("prob: keys with the fewest partners")
    page = open_page(f"/shed?run={RUN_ID}&at=1", site_url=url)
    expect(page.locator("#pw-shed-joins")).to_be_hidden()
