"""Turning knobs in the browser: draft, pending, applied, refused, audit, revert, two tabs."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from storage.exchange.commands import open_command_writer
from tests.web.conftest import OpenPage, asking, painted, until, visit
from tests.web.recorded_parts import KNOBS
from tests.web.site import Site

pytestmark = pytest.mark.web


def card_of(page: Page, name: str) -> Locator:
    """The card of a knob, ready to use."""
    card = page.locator(f"#pw-page [data-knob='{name}']")
    expect(card).to_be_visible()
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    return card


def test_every_knob_is_a_card_with_help_range_and_default(open_page: OpenPage) -> None:
    page = open_page("/knobs?run=r1")
    page.wait_for_selector("[data-knob]")
    groups = page.locator(".pw-expert")
    expect(groups).to_have_count(1)  # the source has one knob, the unit more than four
    expect(page.locator("[data-knob=store_rejected]")).to_be_hidden()
    groups.get_by_text("Expert: 2 more").click()
    expect(page.locator("[data-knob=store_rejected]")).to_be_visible()
    names = page.eval_on_selector_all("[data-knob]", "all => all.map(c => c.dataset.knob)")
    assert set(names) == {knob.name for knob in KNOBS}
    mu = page.locator("[data-knob=mu]")
    expect(mu).to_contain_text("Relative change")
    expect(mu).to_contain_text("0.001 … 10")
    expect(mu).to_contain_text("default 0.1")


def test_a_knob_has_a_name_for_people_and_the_records_on_focus(open_page: OpenPage) -> None:
    page = open_page("/knobs?run=r1")
    word = page.locator("[data-knob=lambda_tuples] .pw-term")
    expect(word).to_have_text("Re-computation period λ")
    tip = page.get_by_role("tooltip")
    word.focus()
    expect(tip).to_contain_text("lambda_tuples")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    page.locator("[data-knob=mu] .pw-term").hover()
    expect(tip).to_contain_text("mu")
    page = open_page("/plan?run=r1")
    row = page.locator("#plan-inspector .pw-term", has_text="Dropping ratio, baseline")
    row.focus()
    expect(page.get_by_role("tooltip")).to_contain_text("d_init")
    expect(page.get_by_role("tooltip")).to_contain_text("baseline of d")
    tables = page.locator("#plan-inspector .pw-properties").all_inner_texts()
    assert tables
    assert "_" not in "".join(tables)


def test_knobs_of_an_ended_run_are_locked_and_say_why(open_page: OpenPage) -> None:
    page = open_page("/knobs?run=r1")
    mu = page.locator("[data-knob=mu]")
    expect(mu.get_by_label("mu", exact=True)).to_be_disabled()
    reason = "This run is ended; its knobs are history."
    expect(page.locator("#pw-knobs-body")).to_contain_text(reason)
    expect(mu).to_have_attribute("title", reason)


def test_a_turn_is_pending_then_applied_and_audited(open_page: OpenPage, site: Site) -> None:
    page = open_page("/knobs")
    mu = card_of(page, "mu")
    box = mu.get_by_label("mu", exact=True)
    box.fill("0.3")
    mu.get_by_label("Reason for changing mu").fill("too many switches")
    chip = mu.locator(".pw-chip")
    with asking(page, site.reader, "r2"):
        begun = time.perf_counter()
        mu.get_by_role("button", name="Apply 0.3").click()
        expect(chip).to_have_attribute("data-phase", "pending")
        assert time.perf_counter() - begun < 2
    site.feed()
    batch = site.recording.next_batch - 1
    expect(chip).to_have_text(f"applied at batch {batch}")
    expect(mu).to_have_attribute("data-value", "0.3")
    row = page.locator("#pw-audit tbody tr").first
    expect(row).to_contain_text("too many switches")
    expect(row).to_contain_text("0.1")
    with asking(page, site.reader, "r2"):
        row.get_by_role("button", name="Back to 0.1").click()
    expect(page.locator(".pw-toast").last).to_contain_text("requested")
    site.feed()
    expect(mu).to_have_attribute("data-value", "0.1")
    expect(page.locator("#pw-audit tbody tr").first).to_contain_text("revert of #")


_SLOW_PAGE = """() => {
  const ask = window.fetch;
  window.fetch = async (...wanted) => {
    const slow = String(wanted[0].url || wanted[0]).includes("_dash-update-component");
    if (slow) await new Promise((done) => setTimeout(done, 3000));
    return ask(...wanted);
  };
}"""


def test_the_new_value_is_shown_from_the_click_on(open_page: OpenPage, site: Site) -> None:
    page = open_page("/knobs")
    mu = card_of(page, "mu")
    page.evaluate(_SLOW_PAGE)
    box, chip = mu.get_by_label("mu", exact=True), mu.locator(".pw-chip")
    for value in ("0.35", "0.25"):  # the second while the page does not have the first yet
        with asking(page, site.reader, "r2"):
            box.fill(value)
            mu.get_by_role("button", name=f"Apply {value}").click()
            expect(chip).to_have_attribute("data-phase", "pending")
            expect(box).to_have_value(value)
        site.feed()
        expect(chip).to_contain_text(f"applied at batch {site.recording.next_batch - 1}")
        assert box.input_value() == mu.get_attribute("data-value") == value


def test_turns_are_asked_in_their_order(open_page: OpenPage, site: Site) -> None:
    page = open_page("/knobs")
    mu = card_of(page, "mu")
    box, chip = mu.get_by_label("mu", exact=True), mu.locator(".pw-chip")
    for value, asked_so_far in (
        ("0.41", "pending"),
        ("0.42", "then 0.42"),
        ("0.43", "then 0.42, then 0.43"),
    ):
        box.fill(value)
        mu.get_by_role("button", name=f"Apply {value}").click()
        expect(chip).to_contain_text(asked_so_far)
    expect(box).to_have_value("0.43")
    expect(mu).not_to_contain_text("someone else")
    with site.feeding(0.3):
        expect(mu).to_have_attribute("data-value", "0.43")
    asked = sorted(site.reader.commands("r2"), key=lambda command: command.id)[-3:]
    assert [command.payload["value"] for command in asked] == [0.41, 0.42, 0.43]
    assert {command.state for command in asked} == {"applied"}


def test_a_turn_behind_one_that_someone_overtook_is_not_asked(
    open_page: OpenPage, site: Site
) -> None:
    page = open_page("/knobs")
    mu = card_of(page, "mu")
    box = mu.get_by_label("mu", exact=True)
    with asking(page, site.reader, "r2"):
        for value in ("0.51", "0.52"):
            box.fill(value)
            mu.get_by_role("button", name=f"Apply {value}").click()
    with open_command_writer(str(site.path)) as writer:
        writer.append_command("r2", "knob", {"knob": "mu", "value": 0.9}, "ana", "", time.time())
    site.feed()
    expect(mu.locator(".pw-chip")).to_contain_text("0.52 was not requested, it is 0.9 now")
    expect(box).to_have_value("0.52")
    box.press("Escape")
    expect(box).to_have_value("0.9")


def test_out_of_range_cannot_be_applied(open_page: OpenPage) -> None:
    page = open_page("/knobs")
    mu = card_of(page, "mu")
    before = mu.get_attribute("data-value")
    mu.get_by_label("mu", exact=True).fill("99")
    expect(mu).to_contain_text("at most 10")
    expect(mu.get_by_role("button", name=re.compile("^Apply"))).to_be_disabled()
    mu.get_by_role("button", name="Discard").click()
    expect(mu.get_by_label("mu", exact=True)).to_have_value(before or "")


def test_a_gesture_on_the_slider_is_a_draft_not_a_request(open_page: OpenPage, site: Site) -> None:
    page = open_page("/knobs")
    card = card_of(page, "tau_tuples")
    slider = card.get_by_role("slider", name="tau_tuples slider")
    before = len(site.reader.commands("r2"))
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    box = card.get_by_label("tau_tuples", exact=True)
    expect(box).not_to_have_value("1000")
    value = box.input_value()
    assert int(value) > 1000
    assert len(site.reader.commands("r2")) == before
    site.feed(2, 0.3)
    painted(page, site.recording.next_batch - 1)
    assert box.input_value() == value


def test_two_tabs_cannot_overwrite_each_other(open_page: OpenPage, site: Site) -> None:
    first, second = open_page("/knobs"), open_page("/knobs")
    one, two = card_of(first, "profile_prob"), card_of(second, "profile_prob")
    two.get_by_label("profile_prob", exact=True).fill("0.5")
    one.get_by_label("profile_prob", exact=True).fill("0.2")
    with asking(first, site.reader, "r2"):
        one.get_by_role("button", name="Apply 0.2").click()
    site.feed()
    expect(one.locator(".pw-chip")).to_contain_text("applied")
    expect(two).to_contain_text("Changed to 0.2 by someone else meanwhile")
    second.keyboard.press("Escape")


def test_a_draft_that_was_refused_is_there_to_be_asked_again(
    open_page: OpenPage, browser: Browser, site: Site
) -> None:
    """The browser's console says of a refusal what the page says as well."""
    first = open_page("/knobs")
    with browser.new_page() as second:
        visit(second, f"{site.url}/knobs")
        painted(second)
        one, two = card_of(first, "profile_prob"), card_of(second, "profile_prob")
        two.get_by_label("profile_prob", exact=True).fill("0.6")
        two.get_by_label("Reason for changing profile_prob").fill("more tuples")
        one.get_by_label("profile_prob", exact=True).fill("0.3")
        with asking(first, site.reader, "r2"):
            one.get_by_role("button", name="Apply 0.3").click()
        site.feed()
        expect(two).to_contain_text("Changed to 0.3 by someone else meanwhile")
        two.get_by_role("button", name="Apply 0.6").click()
        expect(two.locator(".pw-chip")).to_contain_text("it is 0.3 now")
        expect(two.get_by_label("profile_prob", exact=True)).to_have_value("0.6")
        newest = second.locator("#pw-audit tbody tr").first
        expect(newest).to_contain_text("refused")
        expect(newest).to_contain_text("more tuples")
        expect(newest).to_contain_text("it is 0.3 now")
        with asking(second, site.reader, "r2"):
            two.get_by_role("button", name="Apply 0.6").click()
        site.feed()
        expect(two.locator(".pw-chip")).to_contain_text("applied")
        assert site.reader.commands("r2")[0].reason == "more tuples"


def test_locked_while_frozen(open_page: OpenPage, site: Site) -> None:
    page = open_page("/knobs")
    mu = card_of(page, "mu")
    site.feed()
    until(page, "planwatch.known.now !== null")
    page.locator("#pw-mode").click()
    expect(page.locator("#pw-knobs-body")).to_contain_text("Frozen")
    expect(mu.get_by_label("mu", exact=True)).to_be_disabled()


def test_the_inspector_holds_the_knobs_of_its_node(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r2&node=op:source")
    inspector = page.locator("#plan-inspector")
    expect(inspector.locator("[data-knob=rate]")).to_be_visible()
    assert inspector.locator("[data-knob]").count() == 1


def test_news_count_with_the_batch_that_is_drawn_for_them(open_page: OpenPage, site: Site) -> None:
    """A panel that is drawn for the news of a batch is drawn as of that one, or would stay so."""
    page = open_page("/knobs?run=r2")
    expect(page.locator("#pw-mode")).to_have_attribute("data-mode", "live")
    page.evaluate(
        """() => {
          const { on, known } = window.planwatch;
          window.toldAt = [];
          const drawn = () => known.ahead ?? known.now;
          on("told", ({ b }) => queueMicrotask(() => window.toldAt.push([b, drawn()])));
        }"""
    )
    order = list(site.recording.order)
    for place in range(4):
        site.feed(2, 0.1, order=order[::-1] if place % 2 else order)
        until(page, f"window.toldAt.length > {place}")
    assert [told for told, drawn in page.evaluate("window.toldAt") if told != drawn] == []
