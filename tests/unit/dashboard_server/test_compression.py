"""Compressed where it pays, kept where the address changes with the content."""

from __future__ import annotations

import gzip
import re

import dash

from dashboard.serving.compression import GzipCache

GZIP = {"Accept-Encoding": "gzip"}


def test_pages_scripts_and_answers_are_compressed(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    html = browser.get("/").text
    script = next(iter(re.findall(r'src="(/scripts/[^"]+/dash-renderer.js)"', html)))
    for path in ("/", script, "/_dash-layout", "/api/v1/openapi.json"):
        plain = browser.get(path)
        packed = browser.get(path, headers=GZIP)
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert len(packed.data) < len(plain.data) / 1.5
        if path != "/":  # the index has a fresh token each time
            assert gzip.decompress(packed.data) == plain.data


def test_small_answers_and_refusals_stay_plain(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    assert "Content-Encoding" not in browser.get("/healthz", headers=GZIP).headers
    never = {"Accept-Encoding": "gzip;q=0"}
    assert "Content-Encoding" not in browser.get("/_dash-layout", headers=never).headers


def test_files_with_a_fingerprint_are_kept_for_good(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    html = browser.get("/").text
    files = re.findall(r'(?:src|href)="(/(?:_dash-component-suites|assets|scripts)/[^"]+)"', html)
    lasting = [file for file in files if ".v" in file or "?m=" in file or "/scripts/" in file]
    assert len(lasting) >= 5
    for file in lasting[:3] + lasting[-3:]:
        with browser.get(file) as answer:
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    with browser.get("/assets/a_tokens.css", headers=GZIP) as bare:
        assert bare.headers["Cache-Control"] == "no-cache"
        known = {"If-None-Match": bare.headers["ETag"]}
    with browser.get("/assets/a_tokens.css", headers=known | GZIP) as again:
        assert again.status_code == 304


def test_what_stays_the_same_while_a_server_runs_is_sent_once(shown: dash.Dash) -> None:
    browser = shown.server.test_client()
    for path in ("/_dash-layout", "/_dash-dependencies"):
        first = browser.get(path, headers=GZIP)
        assert first.headers["Cache-Control"] == "private, no-cache"
        known = {"If-None-Match": first.headers["ETag"]}
        again = browser.get(path, headers=known | GZIP)
        assert (again.status_code, again.data) == (304, b"")
        assert browser.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_cache_forgets_what_was_used_least_recently() -> None:
    cache = GzipCache(n_bytes=2 * len(gzip.compress(b"a" * 1000, 6, mtime=0)) + 20)
    first = cache.get("a", b"a" * 1000)
    cache.get("b", b"b" * 1000)
    assert cache.get("a", b"other content") == first
    cache.get("c", b"c" * 1000)
    assert gzip.decompress(cache.get("b", b"new")) == b"new"
