"""The regret ledger on the Timeline page: four lines, the total with its band, the table twin."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage, until

pytestmark = pytest.mark.web
PLOT = "document.querySelector('#pw-ledger-graph .js-plotly-plot')"
SLOW_S = 40.0  # plotly is large, and test machines are busy


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1440, 900), ("dark", 1280, 720)])
def test_the_ledger_has_lines_a_total_and_a_table(
    open_page: OpenPage, scheme: str, width: int, height: int
) -> None:
    page = open_page("/timeline?run=r1", scheme=scheme, width=width, height=height)
    until(page, f"!!({PLOT} && {PLOT}.data && {PLOT}.data.length === 7)", SLOW_S)
    expect(page.locator("#pw-ledger-note")).to_contain_text(
        "saved 17.5k ± 1.6k visits against the first order"
    )
    expect(page.locator("#pw-ledger-note")).to_contain_text("above the best fixed order")
    newest = page.evaluate(f"{PLOT}.data.find(t => (t.meta || {{}}).regret === 'saved').y.at(-1)")
    assert newest == 17500
    box = page.locator("#pw-ledger-box")
    box.get_by_role("button", name="Table").click()
    rows = page.locator("#pw-ledger-table tbody tr")
    expect(rows.first).to_contain_text("17.5k")
    expect(rows).to_have_count(8)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
