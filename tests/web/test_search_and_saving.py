"""The search of everything, and what is saved as a file."""

from __future__ import annotations

import csv
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Download, Page, expect

from tests.web.conftest import OpenPage
from tests.web.recorded_parts import ATTRIBUTES

pytestmark = pytest.mark.web


def searched(page: Page, text: str) -> None:
    """Search for a text and take the first that is found."""
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    expect(box).to_be_focused()
    expect(page.get_by_role("listbox")).to_contain_text("page")
    box.fill(text)
    found = page.locator(".pw-found[aria-selected=true]")
    for word in text.split():
        expect(found).to_contain_text(word, ignore_case=True)
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
    searched(page, "Threshold mu knob")
    expect(page).to_have_url(re.compile(r"/knobs\?.*unit=asc"))
    searched(page, "month first decision")
    expect(page).to_have_url(re.compile(r"/decisions\?.*at=60.*node=6|/decisions\?.*node=6.*at=60"))
    expect(page.locator("#pw-decision-box")).to_contain_text("moved by 0.31")
    searched(page, "#8")
    expect(page).to_have_url(re.compile(r"/decisions\?.*node=8"))
    searched(page, "Timeline")
    expect(page).to_have_url(re.compile("/timeline"))
    page.locator("#pw-search-open").click()
    page.get_by_role("combobox", name="Search").fill("no such thing")
    expect(page.get_by_role("dialog", name="Search")).to_contain_text("Nothing is called that")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Search")).to_have_count(0)


def save(page: Page, title: str, words: str) -> None:
    """Choose it in the panel's menu."""
    page.locator(f"summary[aria-label^='Save {title},']").click()
    page.get_by_role("button", name=f"Save {title} as {words}", exact=True).click()


def test_tables_are_saved_as_csv(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=110")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "110")
    page.keyboard.press("t")
    with page.expect_download() as waiting:
        save(page, "Plan", "CSV")
    assert waiting.value.suggested_filename == "r1-plan-batch110.csv"
    rows = list(csv.reader(Path(waiting.value.path()).read_text().splitlines()))
    names = [row[0] for row in rows if row and row[0] in ATTRIBUTES]
    assert sorted(names) == sorted(ATTRIBUTES)
    heading = next(row for row in rows if row and row[0] == "Construct")
    place = heading.index("drop probability")
    line = next(row for row in rows if row and row[0] == "month")
    assert 0 <= float(line[place]) <= 1


def test_tables_are_saved_as_parquet_while_the_figure_is_shown(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=110")
    expect(page.locator("#plan-graph")).to_have_attribute("data-batch", "110")
    saved: list[Download] = []
    page.on("download", lambda one: saved.append(one))
    with page.expect_download():
        save(page, "Plan", "Parquet")
    expect(page.locator("[data-twin]").first).to_have_attribute("data-twin", "figure")
    page.wait_for_timeout(500)  # sleeps: no further file comes
    tables = {one.suggested_filename: pq.read_table(one.path()) for one in saved}
    assert all(re.fullmatch(r"r1-plan(-\d)?-batch110\.parquet", name) for name in tables)
    table = next(one for one in tables.values() if "Construct" in one.column_names)
    probs = dict(
        zip(table["Construct"].to_pylist(), table["drop probability"].to_pylist(), strict=True)
    )
    assert set(ATTRIBUTES) <= set(probs)
    assert pa.types.is_floating(table.schema.field("drop probability").type)
    assert 0 <= probs["month"] <= 1


def test_the_plan_is_saved_as_svg(open_page: OpenPage) -> None:
    page = open_page("/plan?run=r1&at=110", scheme="dark")
    expect(page.locator("#plan-graph svg")).to_be_visible()
    with page.expect_download() as waiting:
        save(page, "Plan", "SVG")
    root = ElementTree.parse(waiting.value.path()).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {"".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert set(ATTRIBUTES) <= texts
    assert "fill:" in next(root.iter("{http://www.w3.org/2000/svg}rect")).attrib["style"]


@pytest.mark.parametrize(
    ("address", "title", "drawn"),
    [
        ("/plan", "Plan", "#plan-graph svg"),
        ("/timeline", "Timeline", "#pw-timeline-graph .main-svg"),
    ],
)
def test_what_is_drawn_is_saved_as_it_looks(
    open_page: OpenPage, address: str, title: str, drawn: str
) -> None:
    page = open_page(f"{address}?run=r1&at=110")
    expect(page.locator(drawn).first).to_be_visible(timeout=40_000)
    assert page.locator(".modebar-btn").count() == 0
    box = page.locator(drawn).first.bounding_box()
    assert box is not None
    with page.expect_download() as waiting:
        save(page, title, "PNG")
    png = Path(waiting.value.path()).read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == pytest.approx((2 * box["width"], 2 * box["height"]), abs=3)
    assert len(png) > 20_000
    with page.expect_download() as waiting:
        save(page, title, "SVG")
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert ("Visits per tuple" if title == "Timeline" else "month") in text


@pytest.mark.parametrize(
    ("address", "title", "words"),
    [
        ("/plan", "Recent batches", {"Visits per tuple", "Throughput", "Batch time"}),
        ("/monitor", "Graphs", {"Visits per tuple", "Throughput", "Batch time", "System"}),
    ],
)
def test_charts_of_a_panel_are_saved_together(
    open_page: OpenPage, address: str, title: str, words: set[str]
) -> None:
    page = open_page(f"{address}?run=r1&at=110")
    expect(page.locator(".pw-history svg").nth(2)).to_be_visible()
    with page.expect_download() as waiting:
        save(page, title, "SVG")
    root = ElementTree.parse(waiting.value.path()).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    assert words <= {"".join(node.itertext()) for node in root.findall(f"{svg}text")}
    charts = root.findall(f"{svg}svg")
    assert len(charts) >= 3
    assert len({(one.attrib["x"], one.attrib["y"]) for one in charts}) == len(charts)
    with page.expect_download() as waiting:
        save(page, title, "PNG")
    png = Path(waiting.value.path()).read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(png) > 5_000
