"""The SQL page: asked, refused, saved, reached from a panel, taken away as a file."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage, until

pytestmark = pytest.mark.web


def test_a_query_is_asked_saved_and_forgotten(open_page: OpenPage) -> None:
    page = open_page("/sql?run=r1&at=20")
    box = page.locator("#pw-sql-text")
    box.fill("SELECT id, n_tuples FROM batches WHERE run_id = :run AND id <= :at ORDER BY id")
    box.press("Control+Enter")
    rows = page.locator("#pw-sql-body tbody tr")
    expect(rows).to_have_count(21)
    assert "show=SELECT" in page.url
    with page.expect_download() as found:
        page.get_by_role("link", name="Save all rows as CSV").click()
    text = found.value.path().read_text()
    assert text.splitlines()[:2] == ["id,n_tuples", "0,200"]
    page.get_by_role("button", name="Save as …").click()
    page.get_by_role("textbox", name="Save this query as").fill("early batches")
    page.get_by_role("button", name="Save", exact=True).click()
    saved = page.get_by_role("link", name="early batches")
    expect(saved).to_have_attribute("aria-current", "true")
    box.fill("DELETE FROM runs")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("only SELECT is allowed")
    saved.click()
    expect(rows).to_have_count(21)
    until(page, "document.querySelector('#pw-sql-text').value.startsWith('SELECT id, n_tuples')")
    page.get_by_role("button", name="Forget the query early batches").click()
    page.get_by_role("button", name="Forget it").click()
    expect(saved).to_have_count(0)


@pytest.mark.parametrize(
    ("path", "panel", "names"),
    [
        ("/timeline", "#pw-timeline", "JOIN samples"),
        ("/plan", "#pw-plan-twin", "FROM plan_versions"),
        ("/plan", "#pw-recent-twin", "FROM batches"),
        ("/", ".pw-runs-panel", "FROM runs"),
    ],
)
def test_a_panel_leads_to_the_records_behind_it(
    open_page: OpenPage, path: str, panel: str, names: str
) -> None:
    page = open_page(f"{path}?run=r1&at=40")
    menu = page.locator(f"{panel} .pw-more summary")
    if panel != ".pw-runs-panel":
        menu.first.click()
    page.locator(panel).get_by_role("link", name="SQL").click()
    until(page, "location.pathname === '/sql'")
    expect(page.locator("#pw-sql-body tbody tr").first).to_be_visible()
    until(page, f"document.querySelector('#pw-sql-text').value.includes({names!r})")


def test_files_of_an_answer_that_is_cut_say_so(open_page: OpenPage) -> None:
    page = open_page("/sql?run=r1")
    box = page.locator("#pw-sql-text")
    box.fill("SELECT a.id FROM batches a, batches b WHERE a.run_id = :run AND b.run_id = :run")
    box.press("Control+Enter")
    expect(page.get_by_text("the first 10\u2009000 rows, there are more")).to_be_visible()
    expect(page.get_by_role("link", name="Save these 10\u2009000 rows as Parquet")).to_be_visible()


def test_names_are_put_in_by_a_click_and_while_one_types(open_page: OpenPage) -> None:
    page = open_page("/sql?run=r1&at=20")
    box = page.locator("#pw-sql-text")
    box.press_sequentially("SELECT duration")
    expect(page.locator("#pw-sql-hints button")).to_have_text("duration_ms")
    box.press("Tab")
    expect(box).to_have_value("SELECT duration_ms")
    box.press_sequentially(" FROM")
    tables = page.get_by_role("group", name="Tables")
    tables.get_by_text("batches", exact=True).first.click()
    tables.get_by_role("button", name="batches", exact=True).click()
    expect(box).to_have_value("SELECT duration_ms FROM batches")
    box.press_sequentially(" WHERE matr")
    box.press("Escape")
    expect(page.locator("#pw-sql-hints")).to_be_hidden()


@pytest.mark.parametrize(
    ("query", "drawn", "words"),
    [
        ("SELECT id AS batch, n_tuples FROM batches WHERE run_id = :run", ".pw-history", "200"),
        ("SELECT kind, count(*) AS n FROM events GROUP BY kind", ".pw-sql-bars", "n by kind"),
    ],
)
def test_an_answer_is_drawn(open_page: OpenPage, query: str, drawn: str, words: str) -> None:
    page = open_page(f"/sql?run=r1&at=20&show={quote(query)}")
    expect(page.locator(f"#pw-sql-body {drawn}")).to_contain_text(words)
