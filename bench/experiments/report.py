"""The report: one HTML file that asks nothing of the network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from bench.experiments.results import JUDGED, FigureResult, Plot

#: Apart for colour-blind readers; dashes and numbers below carry the same.
COLOURS: Final = ("#1971c2", "#087f5b", "#6741d9", "#a84300", "#0b7285", "#c92a2a")
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKS: Final = {"reproduced": "✓", "partly": "◐", "not reproduced": "✗"}
_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #212529; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ced4da; padding: .35rem .6rem; text-align: left;
  vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; }
"""


def draw(plot: Plot) -> go.Figure:
    """The diagram."""
    figure = go.Figure()
    for place, series in enumerate(plot.series):
        colour, dash = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
        trace = {"x": series.x, "y": series.y, "name": series.name}
        if plot.kind == "bars":
            figure.add_trace(go.Bar(**trace, marker={"color": colour}))
        else:
            line = {"color": colour, "dash": dash}
            figure.add_trace(go.Scatter(**trace, mode="lines", line=line))
    for x in plot.marks:
        figure.add_vline(x=x, line={"color": "#868e96", "dash": "dot"})
    figure.update_layout(
        template="plotly_white",
        title={"text": plot.title},
        xaxis={"title": {"text": plot.x_title}, "type": "log" if plot.log_x else "-"},
        yaxis={
            "title": {"text": plot.y_title},
            "rangemode": "tozero" if plot.kind == "bars" else "normal",
        },
        barmode="group",
        height=420,
        legend={"orientation": "h", "y": -0.25},
    )
    if plot.kind == "bars":
        figure.update_xaxes(type="category")
    return figure


def html(title: str, results: Sequence[FigureResult], missing: Sequence[str] = ()) -> str:
    """The whole report. missing: sentences on figures that are elsewhere."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<script>{get_plotlyjs()}</script></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in missing),
        claims_table(results),
        f"<p>{escape(JUDGED)}</p>",
    ]
    n_plots = 0
    for result in results:
        parts += _section(result, n_plots)
        n_plots += len(result.plots)
    return "\n".join([*parts, "</body></html>", ""])


def claims_table(results: Sequence[FigureResult]) -> str:
    """Claim, whether it was reproduced, our number."""
    rows = [
        f'<tr><td><a href="#fig-{r.key}">{r.key}</a></td><td>{escape(claim.text)}</td>'
        f"<td>{MARKS[claim.verdict]} {claim.verdict}</td><td>{escape(claim.number)}</td></tr>"
        for r in results
        for claim in r.claims
    ]
    head = "<th>figure</th><th>claim</th><th>reproduced?</th><th>our number</th>"
    return "\n".join(["<table><caption>Claims</caption>", f"<tr>{head}</tr>", *rows, "</table>"])


def _section(result: FigureResult, n_before: int) -> list[str]:
    rows = [f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in result.setup]
    parts = [f'<h2 id="fig-{result.key}">{escape(result.title)}</h2>']
    for place, plot in enumerate(result.plots, start=n_before):
        figure = draw(plot).to_html(
            include_plotlyjs=False,
            full_html=False,
            div_id=f"plot-{place}",
            config={"displaylogo": False, "responsive": True},
        )
        parts += [figure, _numbers(plot)]
    parts += [f"<p>{escape(note)}</p>" for note in result.notes]
    return [*parts, "<table><caption>Conditions</caption>", *rows, "</table>"]


def _numbers(plot: Plot) -> str:
    """The values of the plot, folded away."""
    head = "".join(f"<th>{escape(s.name)}</th>" for s in plot.series)
    rows = []
    for place, x in enumerate(plot.series[0].x):
        cells = "".join(f'<td class="number">{s.y[place]:.3f}</td>' for s in plot.series)
        name = x if isinstance(x, str) else f"{x:g}"
        rows.append(f"<tr><th>{escape(name)}</th>{cells}</tr>")
    table = f"<table><tr><th>{escape(plot.x_title)}</th>{head}</tr>{''.join(rows)}</table>"
    return f"<details><summary>{escape(plot.title)}: numbers</summary>{table}</details>"
