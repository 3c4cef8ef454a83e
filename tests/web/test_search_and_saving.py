"""The search of everything, and what is saved as a file."""

from __future__ import annotations

import csv
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage
from tests.web.recorded_parts import ATTRIBUTES

pytestmark = pytest.mark.web
_SVG = "{http://www.w3.org/2000/svg}"


def searched(page: Page, text: str) -> None:
    """Search for a text and take the first that is found."""
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    expect(box).to_be_focused()
    expect(page.get_by_role("listbox")).to_contain_text("page")
    box.fill(text)
    expect(page.locator(".pw-found[aria-selected=true]")).to_contain_text(text.split()[0])
    page.keyboard.press("Enter")


def test_the_search_leads_to_whatever_it_finds(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1")
    expect(page.locator("#plan-graph")).to_be_visible()
    searched(page, "wind_speed selection")
    expect(page).to_have_url(re.compile(r"/plan\?run=r1&node=asc(:|%3A)wind_speed"))
    searched(page, "fog")
    expect(page).to_have_url(re.compile(r"/results\?.*node=query(:|%3A)fog"))
    searched(page, "Plan 3")
    expect(page).to_have_url(re.compile(r"/plan\?.*at=110"))
    searched(page, "Timeline")
    expect(page).to_have_url(re.compile("/timeline"))
    page.locator("#pw-search-open").click()
    page.get_by_role("combobox", name="Search").fill("no such thing")
    expect(page.get_by_role("dialog", name="Search")).to_contain_text("Nothing is called that")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Search")).to_have_count(0)


def saved(page: Page, title: str, kind: str) -> None:
    """Save a panel's figure or numbers by its menu."""
    page.get_by_title(f"Save {title} as a file", exact=True).click()
    page.get_by_role("button", name=f"Save {title} as {kind}", exact=True).click()


def test_tables_are_saved_as_csv(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=110")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "110")
    page.keyboard.press("t")
    with page.expect_download() as waiting:
        saved(page, "Plan", "CSV")
    assert waiting.value.suggested_filename == "r1-plan-batch110.csv"
    rows = list(csv.reader(Path(waiting.value.path()).read_text().splitlines()))
    names = [row[0] for row in rows if row and row[0] in ATTRIBUTES]
    assert sorted(names) == sorted(ATTRIBUTES)
    heading = next(row for row in rows if row and row[0] == "Construct")
    place = heading.index("drop probability")
    line = next(row for row in rows if row and row[0] == "month")
    assert 0 <= float(line[place]) <= 1


def test_the_plan_is_saved_as_svg(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=110", scheme="dark")
    expect(page.locator("#plan-graph svg")).to_be_visible()
    with page.expect_download() as waiting:
        saved(page, "Plan", "SVG")
    root = ElementTree.parse(waiting.value.path()).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {"".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert set(ATTRIBUTES) <= texts
    drawing = next(root.iter("{http://www.w3.org/2000/svg}svg"))
    assert any("fill:" in node.attrib.get("style", "") for node in drawing.iter())


def test_a_figure_is_saved_as_svg_and_png_by_the_panels_own_tools(open_page: OpenPage) -> None:
    page = open_page("/timeline?run=r1")
    expect(page.locator("#pw-timeline-graph .js-plotly-plot .xtick").first).to_be_visible()
    assert page.locator(".modebar").count() == 0
    with page.expect_download() as waiting:
        saved(page, "Timeline", "SVG")
    root = ElementTree.parse(waiting.value.path()).getroot()
    words = " ".join("".join(node.itertext()) for node in root.iter(f"{_SVG}text"))
    assert "Throughput" in words
    assert "rearranged" in words
    assert len(list(root.iter(f"{_SVG}path"))) > 10
    with page.expect_download() as waiting:
        saved(page, "Timeline", "PNG")
    assert waiting.value.suggested_filename.endswith(".png")
    data = Path(waiting.value.path()).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    size = struct.unpack(">II", data[16:24])
    assert size == (2 * int(root.attrib["width"]), 2 * int(root.attrib["height"]))
    assert len(data) > 20_000  # something is drawn


def test_a_zoomed_figure_offers_the_way_back(open_page: OpenPage) -> None:
    page = open_page("/timeline?run=r1")
    plot = page.locator("#pw-timeline-graph .nsewdrag").first
    box = plot.bounding_box()
    assert box is not None
    reset = page.locator("#pw-timeline").get_by_role("button", name="Reset zoom")
    expect(reset).to_be_hidden()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("span="))
    reset.click()
    expect(page).not_to_have_url(re.compile("span="))
    expect(reset).to_be_hidden()
