"""Alert rules in the browser: made on a page of their own, in the header of every page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage
from tests.web.site import Site

pytestmark = pytest.mark.web


def test_a_rule_that_holds_stands_in_the_header(open_page: OpenPage, site: Site) -> None:
    page = open_page("/alerts?run=r2")
    badge = page.locator("#pw-alert-count")
    expect(page.get_by_label("Number the rule is about")).to_be_enabled()
    expect(badge).to_have_text("1 alert")
    page.get_by_role("button", name="Silence 1 h: Misfits").click()
    expect(badge).to_be_hidden()
    expect(page.locator("#pw-alerts-body tbody tr", has_text="Misfits")).to_contain_text("silent")
    why = page.locator(".pw-alert-why")
    page.get_by_role("button", name="Add the rule").click()
    field = page.get_by_label("Number the rule is about")
    expect(field).to_have_attribute("placeholder", re.compile("such as"))
    example = (field.get_attribute("placeholder") or "").removeprefix("number, such as ")
    expect(why).to_contain_text(example)
    page.get_by_label("Number the rule is about").fill("snow_late")
    page.get_by_role("button", name="Add the rule").click()
    expect(why).to_contain_text("No number is called snow_late")
    page.get_by_label("Number the rule is about").fill(example)
    page.get_by_label("Relation").select_option(">")
    page.get_by_label("Threshold", exact=True).fill("1")
    page.get_by_label("Name of the rule").fill("slow batches")
    page.get_by_role("button", name="Add the rule").click()
    row = page.locator("#pw-alerts-body tbody tr", has_text="slow batches")
    expect(row).to_contain_text("holds")
    expect(row).to_contain_text(re.compile(r"\d\s?m?s"))
    expect(row).to_contain_text(re.compile(r"> 1\s?ms"))
    expect(badge).to_have_text("1 alert")
    page.get_by_role("link", name="Results").click()
    expect(badge).to_be_visible()
    badge.click()
    expect(row).to_be_visible()
    row.get_by_role("button", name="Forget the rule slow batches").click()
    page.get_by_role("button", name="Forget it").click()
    expect(row).to_have_count(0)
    expect(badge).to_be_hidden()
