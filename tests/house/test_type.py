"""One font and five sizes of text: tokens of the style sheets, constants of the figures."""

from __future__ import annotations

import re

from dashboard.figures import theme
from dashboard.serving.bundle import ASSETS
from tests.house.tree import ROOT

TOKENS = (ASSETS / "a_tokens.css").read_text(encoding="utf-8")
SIZES = {
    name: int(px)
    for name, px in re.findall(r"--pw-(fine|body|title|figure|hero): (\d+)px;", TOKENS)
}
SHEETS = [*ASSETS.glob("*.css"), *(ROOT / "dashboard" / "systems").glob("*/*.css")]
#: Where text is set without the style sheets: figures, the log-in page, files that stand alone.
ELSEWHERE = [
    *(ROOT / "dashboard").rglob("*.py"),
    *(ROOT / "dashboard" / "report").glob("*.css"),
    *(ROOT / "dashboard" / "systems").rglob("*.js"),
    *(ASSETS / "modules").glob("*.js"),
]
_SIZE = r"font-size\s*:\s*([^;}]+)|(?<![\w-])font\s*:\s*([^;}\"]+)"


def sizes_in(text: str) -> list[str]:
    """What follows 'font-size:' and 'font:'."""
    return [(one or other).strip() for one, other in re.findall(_SIZE, text)]


def test_there_are_five_sizes_and_none_is_tiny() -> None:
    assert len(SIZES) == 5
    assert min(SIZES.values()) >= 11
    assert tuple(SIZES.values())[:3] == (theme.FINE_PX, theme.BODY_PX, theme.TITLE_PX)


def test_style_sheets_take_their_sizes_from_the_tokens() -> None:
    allowed = {f"var(--pw-{name})" for name in SIZES} | {"inherit"}
    found = {path.name: sizes_in(path.read_text(encoding="utf-8")) for path in SHEETS}
    assert sum(map(len, found.values())) > 50, "the search itself is broken"
    stray = {name: sorted(set(sizes) - allowed) for name, sizes in found.items()}
    assert {name: sizes for name, sizes in stray.items() if sizes} == {}


def test_text_elsewhere_has_one_of_the_five_sizes() -> None:
    stray = []
    for path in ELSEWHERE:
        text = path.read_text(encoding="utf-8")
        numbers = [px for size in sizes_in(text) for px in re.findall(r"([\d.]+)px", size)]
        numbers += re.findall(r"font\"?[:=] ?\{[^}]*\"size\": (\d+)", text)
        stray += [(path.name, px) for px in numbers if float(px) not in SIZES.values()]
    assert stray == []


def test_sizes_are_found_in_all_their_forms() -> None:
    text = "a { font-size: 9px; } b { font: 700 10.5px/1 serif } c { --pw-font: x; font-weight: 1 }"
    assert sizes_in(text) == ["9px", "700 10.5px/1 serif"]


def test_the_font_is_small_and_has_its_licence_beside_it() -> None:
    (address,) = re.findall(r'url\("(vendor/[\w.]+\.woff2)\?m=[\d.]+"\)', TOKENS)
    font = ASSETS / address
    assert font.read_bytes()[:4] == b"wOF2"
    assert font.stat().st_size <= 120_000
    assert "SIL Open Font License" in font.with_suffix(".LICENSE").read_text(encoding="utf-8")
    assert TOKENS.count("font-variant-numeric: tabular-nums") == 1


def test_figures_and_pages_have_the_same_font() -> None:
    assert '--pw-font: "Inter"' in TOKENS
    assert theme.FONT.startswith("Inter,")
    index = (ROOT / "dashboard" / "web" / "app.py").read_text(encoding="utf-8")
    (used,) = re.findall(r'url\("([^"]+)"\)', TOKENS)
    assert f"/assets/{used}" in index, "it is fetched before the style sheets ask"


def test_adaptation_has_one_accent_in_strip_toast_graph_card_and_figures() -> None:
    sheets = {path.name: path.read_text(encoding="utf-8") for path in SHEETS}
    rules = dict(re.findall(r"([^{}]+)\{([^{}]*)\}", "".join(sheets.values())))
    bodies = {selector.strip(): body for selector, body in rules.items()}
    for selector in ('.pw-mark[data-kind="rearrangement"]', ".pw-toast-switch"):
        assert "var(--pw-switch)" in bodies[selector]
    for name in ("d_headline.css", "d_graph_lane.css", "page_decisions.css"):
        assert "var(--pw-switch)" in sheets[name]
    assert "--pw-switch" not in bodies['.pw-mode[data-mode="replay"]']
    accents = re.findall(r"--pw-switch: (#\w+);", TOKENS)
    assert accents == [theme.PALETTES["light"].violet, theme.PALETTES["dark"].violet]
