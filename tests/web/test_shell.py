"""The frame: modes, strip, keys, URL, theme, help, staleness, notices."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from storage.exchange.commands import open_command_writer
from tests.web.conftest import OpenPage, painted, until, visit
from tests.web.site import N_ENDED, STALLED, Site

pytestmark = pytest.mark.web


def ready(page: Page) -> Page:
    """Wait until header and page are filled."""
    expect(page.locator("#pw-plan")).to_have_text(re.compile("Plan|No plan"))
    page.wait_for_selector("#pw-page > *")
    page.wait_for_selector("#pw-scrubber")
    return page


def test_live_run_shows_mode_plan_and_age(open_page: OpenPage, site: Site) -> None:
    page = ready(open_page("/plan"))
    site.feed()
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    expect(page.locator("#pw-mode-word")).to_have_text("LIVE")
    expect(page.locator("#pw-run-state")).to_have_text("running")
    expect(page.locator("#pw-stream")).to_have_text("flights / Flights")
    expect(page.locator("#pw-age")).to_have_text(re.compile(r"data \d.*old"))
    expect(page.locator("#pw-age")).to_have_attribute("data-level", "ok")
    assert page.title() == "Plan · r2 · LIVE · Planwatch"
    assert page.locator("html").get_attribute("lang") == "en"


def test_space_stops_time_and_scrolls_nothing_wherever_the_focus_is(open_page: OpenPage) -> None:
    page = ready(open_page("/plan", height=500))
    page.locator(".pw-nav-link").first.focus()
    page.keyboard.press("Space")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "frozen")
    assert page.evaluate("window.scrollY") == 0


def test_space_stops_time_after_a_click_on_a_card(open_page: OpenPage, site: Site) -> None:
    page = ready(open_page("/plan"))
    site.feed()
    card = page.locator(".pw-graph [aria-pressed]").first
    card.click()
    until(page, "location.search.includes('node=')")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    page.keyboard.press("Space")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "frozen")
    page.keyboard.press("Space")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")


def test_frozen_means_frozen_and_resume_jumps_to_now(open_page: OpenPage, site: Site) -> None:
    page = ready(open_page("/plan"))
    site.feed(2)
    until(page, f"planwatch.known.now === {site.recording.next_batch - 1}")
    page.keyboard.press("Space")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "frozen")
    assert "frozen=1" in page.url
    painted(page)
    parts = "['#pw-page', '#pw-strip'].map(s => document.querySelector(s).innerHTML).join()"
    before = page.evaluate(parts)
    frozen_at = page.evaluate("planwatch.shown()")
    site.feed(5, 0.1)
    expect(page.locator("#pw-since-text")).to_contain_text("5 batches since")
    painted(page)
    assert page.evaluate(parts) == before
    page.locator("#pw-resume").click()
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    graph = page.locator("#plan-graph")
    expect(graph).to_have_attribute("data-batch", str(site.recording.next_batch - 1))
    assert frozen_at < site.recording.next_batch - 1
    assert "at=" not in page.url


def test_a_glyph_moves_the_moment_and_back_returns(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1"))
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", str(N_ENDED - 1))
    mark = page.get_by_role("button", name=re.compile("Batch 110, rearrangement"))
    mark.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "110")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "replay")
    assert "at=110" in page.url
    page.go_back()
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", str(N_ENDED - 1))
    page.go_forward()
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "110")


def test_keys_step_by_adaptation_and_by_batch(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1&at=100"))
    graph = page.locator("#plan-graph")
    expect(graph).to_have_attribute("data-batch", "100")
    for key, batch in (
        ("ArrowRight", 110),
        ("ArrowRight", 150),
        ("ArrowLeft", 110),
        ("Shift+ArrowLeft", 109),
        ("Shift+ArrowRight", 110),
        (".", N_ENDED - 1),
    ):
        page.keyboard.press(key)
        expect(graph).to_have_attribute("data-batch", str(batch))


def test_the_scrubber_is_named_and_moves_the_moment(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1"))
    scrubber = page.get_by_role("slider", name="Moment in the run")
    expect(scrubber).to_have_attribute("max", str(N_ENDED - 1))
    scrubber.fill("42")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "42")
    expect(scrubber).to_have_attribute("aria-valuetext", f"batch 42 of {N_ENDED - 1}")
    scrubber.focus()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "43")


def test_replay_plays_to_the_end_and_stops(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1&at=120"))
    page.get_by_label("Replay speed").select_option("50")
    page.get_by_role("button", name="Play (space)").click()
    graph = page.locator("#plan-graph")
    expect(graph).to_have_attribute("data-batch", str(N_ENDED - 1), timeout=15000)
    expect(page.get_by_role("button", name="Play (space)")).to_be_visible()
    assert f"at={N_ENDED - 1}" in page.url


def test_pages_by_keys_keep_run_and_moment(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1&at=110"))
    page.keyboard.press("g")
    page.keyboard.press("k")
    expect(page.locator("h1")).to_have_text("Knobs")
    assert page.url.endswith("/knobs?run=r1&at=110")
    link = page.locator(".pw-nav-link[aria-current=page]")
    expect(link).to_have_attribute("data-pw-path", "/knobs")


def test_the_run_picker_changes_the_run(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1&at=110&node=asc:month"))
    page.get_by_label("Run", exact=True).select_option("r2")
    expect(page.locator("#pw-run-state")).not_to_have_text("ended")
    assert page.url.endswith("/plan?run=r2")


def test_help_opens_lists_keys_and_closes(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1"))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Help")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("previous, next adaptation")
    assert dialog.evaluate("dialog => dialog.scrollTop") == 0
    expect(dialog.get_by_role("heading", name="Keys")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_share_copies_a_link_to_this_very_moment(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1&at=77&node=asc%3Amonth"))
    page.keyboard.press("y")
    expect(page.locator(".pw-toast")).to_contain_text("Permalink copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_then_the_choice(open_page: OpenPage, scheme: str) -> None:
    page = ready(open_page("/plan?run=r1", scheme=scheme))
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", scheme)
    toggle = page.locator("#pw-theme-toggle")
    expect(toggle).to_have_attribute("data-choice", "system")
    toggle.click()
    expect(root).to_have_attribute("data-theme", "light")
    toggle.click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    ready(page)
    expect(toggle).to_have_attribute("data-choice", "dark")


def test_an_unknown_page_and_an_unknown_run_say_so(open_page: OpenPage) -> None:
    page = open_page("/nowhere?run=r1")
    expect(page.locator("#pw-page")).to_contain_text("There is no such page")
    page = open_page("/plan?run=none")
    expect(page.locator("#pw-page")).to_contain_text("There is no such run")


def test_a_dead_engine_is_called_stopped(open_page: OpenPage) -> None:
    page = ready(open_page(f"/plan?run={STALLED}"))
    shown = page.locator("#pw-age")
    expect(shown).to_contain_text("ENGINE STOPPED")
    expect(shown).to_have_attribute("data-level", "red")
    expect(page.locator("#pw-run-state")).to_have_text("stopped")
    expect(page.locator("#pw-mode-word")).to_have_text("NEWEST")
    expect(page.locator("#pw-mode")).not_to_contain_text("LIVE")
    assert page.title() == f"Plan · {STALLED} · NEWEST · Planwatch"
    stalled = page.locator("#pw-run option", has_text=STALLED)
    expect(stalled).not_to_contain_text("●")
    page.locator(".pw-brand").click()
    expect(page.locator(f"tr[data-run={STALLED}]")).to_contain_text("stopped")
    expect(page.locator(f"tr[data-run={STALLED}]")).not_to_contain_text("running")


def test_one_long_batch_is_not_idle(open_page: OpenPage, site: Site) -> None:
    page = ready(open_page("/plan"))
    site.feed()
    state = page.locator("#pw-run-state")
    expect(state).to_have_text("running")
    for _ in range(8):  # the engine lives on, and no batch ends
        site.writer.heartbeat("r2", time.time(), "its job runs")
        page.wait_for_timeout(1000)  # sleeps: the pace of the engine
    expect(state).to_have_text("working")
    batch = site.recording.next_batch
    told = re.compile(f"^batch {batch} running .* · its job runs$")
    expect(page.locator("#pw-age")).to_have_text(told)
    site.writer.heartbeat("r2", time.time(), "results are written")
    expect(page.locator("#pw-age")).to_contain_text("results are written")
    site.writer.heartbeat("r2", time.time())
    page.locator(".pw-brand").click()
    row = page.locator("tr[data-run=r2]")
    expect(row).to_contain_text("working")
    expect(row).to_contain_text(f"batch {batch} running")


_NO_STREAM = """() => {
  window.EventSource = class {
    static CLOSED = 2;
    readyState = 2;
    constructor() { queueMicrotask(() => this.onerror()); }
    addEventListener() {}
    close() {}
  };
}"""


def test_polling_takes_over_when_the_stream_is_refused(open_page: OpenPage, site: Site) -> None:
    page = ready(open_page("/plan"))
    page.evaluate(_NO_STREAM)
    page.get_by_label("Run", exact=True).select_option("r1")
    expect(page.locator("#pw-run-state")).to_have_text("ended")
    page.get_by_label("Run", exact=True).select_option("r2")
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "poll")
    site.feed()
    newest = str(site.recording.next_batch - 1)
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", newest)


def test_a_hidden_tab_closes_its_stream(open_page: OpenPage) -> None:
    page = ready(open_page("/plan"))
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    page.evaluate(hide % "true" + "document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "off")
    page.evaluate(hide % "false" + "document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#pw-shell")).to_have_attribute("data-link", "stream")


def test_the_skip_link_is_first_and_leads_to_the_page(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1"))
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the page")


def test_the_range_of_time_is_one_for_all_and_in_the_address(open_page: OpenPage) -> None:
    page = ready(open_page("/plan?run=r1"))
    brush = page.locator(".pw-brush").bounding_box()
    assert brush is not None
    y = brush["y"] + brush["height"] / 2
    page.mouse.move(brush["x"] + 0.5 * brush["width"], y)
    page.mouse.down()
    page.mouse.move(brush["x"] + 0.75 * brush["width"], y, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"span=\d+-\d+"))
    first, last = (int(part) for part in page.url.split("span=")[1].split("-"))
    assert abs(first - 100) <= 2
    assert abs(last - 149) <= 2
    scrubber = page.get_by_role("slider", name="Moment in the run")
    expect(scrubber).to_have_attribute("min", str(first))
    expect(scrubber).to_have_attribute("max", str(last))
    expect(page.locator("#plan-visits svg")).to_have_attribute(
        "aria-label", re.compile(rf"batches {first} to {last},")
    )
    page.get_by_label("Time range").select_option("15 min")
    expect(page).to_have_url(re.compile("span=15m"))
    expect(scrubber).to_have_attribute("min", "0")
    page.locator(".pw-brush").dblclick()
    expect(page).not_to_have_url(re.compile("span="))
    assert "at=" not in page.url


def test_own_turns_have_their_own_row_on_the_strip(open_page: OpenPage, site: Site) -> None:
    page = ready(open_page("/plan"))
    site.feed()
    for value in (0.2, 0.3, 0.4):
        with open_command_writer(str(site.path)) as writer:
            writer.append_command("r2", "knob", {"knob": "mu", "value": value}, "a", "", 1.0)
        site.feed(order=list(reversed(site.recording.order)))
    turns = page.locator(".pw-mark[data-row='1']")
    counted = (
        "all => all.reduce((n, mark) => n + Number(mark.querySelector('sub')?.textContent || 1), 0)"
    )
    until(page, f"({counted})([...document.querySelectorAll('.pw-mark[data-row=\"1\"]')]) === 3")
    expect(turns.first).to_have_attribute(
        "aria-label", re.compile("Knob change: Threshold μ = 0", re.I)
    )
    until(
        page, "new Set([...document.querySelectorAll('.pw-mark')].map(m => m.offsetTop)).size === 2"
    )


def test_a_page_that_is_not_answered_as_it_should_be_fails_its_test(
    browser: Browser, site: Site
) -> None:
    page = browser.new_page()
    visit(page, f"{site.url}/api/v1/runs/none", 404)
    with pytest.raises(AssertionError, match="is answered with 404"):
        visit(page, f"{site.url}/api/v1/runs/none")
    page.close()
