"""The Prometheus page is in the format, and says what the store says."""

from __future__ import annotations

import re

import dash

from tests.unit.dashboard_server.site import Site
from tests.web.recorded import Recording

SAMPLE = re.compile(r'planwatch_(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')


def read(text: str) -> dict[tuple[str, str], float]:
    """Samples by name and labels; every line must be a comment or a sample."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP|TYPE) planwatch_\w+ \S.*", line)
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        found[(match[1], match[2] or "")] = float(match[3])
    return found


def test_the_page_is_prometheus_text(shown: dash.Dash) -> None:
    answer = shown.server.test_client().get("/metrics")
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    samples = read(answer.text)
    names = {name for name, _ in samples}
    assert {
        "tuples_total", "matched_total", "misfits_total", "tuples_per_s", "visits_per_tuple",
        "dropping_ratio", "batch_ms", "plan_version", "decisions_stored_total", "sse_clients",
        "poll_ms", "run_info",
    } <= names  # fmt: skip
    run = 'run="r1",workload="flights",stream="Flights"'
    assert samples[("tuples_total", run)] == 80 * 200
    assert samples[("plan_version", run)] == 2
    assert samples[("decisions_stored_total", run + ',verdict="switched"')] == 1


def test_each_metric_is_announced_once_before_its_samples(shown: dash.Dash) -> None:
    lines = shown.server.test_client().get("/metrics").text.splitlines()
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    current = ""
    for line in lines:
        if line.startswith("# TYPE"):
            current = line.split()[2]
        elif not line.startswith("#"):
            assert re.split(r"[{ ]", line)[0] == current


def test_ended_runs_leave_the_page_once_another_runs(site: Site) -> None:
    site.writer.set_state("r1", "ended", "", 5.0)
    assert 'run="r1"' in site.browser().get("/metrics").text
    Recording(site.writer, "r2", 6.0).begin()
    text = site.browser().get("/metrics").text
    assert 'run="r2"' in text
    assert 'run="r1"' not in text
