/* The Timeline page: spot values and quiet bands in the live path, clicks, cursor. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const GRAPH = "pw-timeline-graph";
  const POINTS = ["dropping_ratio", "visits_per_tuple", "tuples_per_s", "batch_ms"]; // dashboard/deltas.py

  const plot = () => {
    const holder = pw.byId(GRAPH);
    return holder ? holder.querySelector(".js-plotly-plot") : null;
  };

  /* An event was clicked: go to its batch. */
  function timelineClick(click) {
    const hit = click && click.points.find((point) => Array.isArray(point.customdata));
    if (hit) pw.go({ at: hit.customdata[0] });
    return window.dash_clientside.no_update;
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.planwatch = Object.assign(window.dash_clientside.planwatch || {}, { timelineClick });

  /* The new points of a trace: [x…, y…], from the points of every new batch or the newest value. */
  function points(trace, delta) {
    const { meta } = trace;
    const last = trace.x && trace.x.length ? trace.x[trace.x.length - 1] : "";
    const iso = (time) => new Date(time * 1000).toISOString();
    if (POINTS.includes(meta.pts)) {
      const column = 2 + POINTS.indexOf(meta.pts);
      const fresh = (delta.pts || []).map((one) => [iso(one[1]), one[column]]).filter((one) => one[0] > last);
      return [fresh.map((one) => one[0]), fresh.map((one) => one[1])];
    }
    const [entity, property] = (meta.band || "|").split("|");
    const value = (delta.v[entity] || {})[property];
    const x = iso(delta.t);
    if (typeof value !== "number" || typeof meta.mu !== "number" || x <= last) return [[], []];
    return [[x], [Math.max(0, value * (1 + meta.edge * meta.mu))]];
  }

  /* Spot values by every batch of the delta; edges of the bands: baseline x (1 + edge x mu). */
  function extend(delta) {
    const gd = plot();
    if (!gd || !gd.data || !window.Plotly) return;
    const grown = { x: [], y: [] };
    const indices = [];
    gd.data.forEach((trace, index) => {
      if (!trace.meta || !(trace.meta.pts || trace.meta.band)) return;
      const [x, y] = points(trace, delta);
      if (!x.length) return;
      grown.x.push(x);
      grown.y.push(y);
      indices.push(index);
    });
    const limit = Number(gd.closest("[data-live-chart]").dataset.liveChart);
    if (indices.length) window.Plotly.extendTraces(gd, grown, indices, limit);
  }
  pw.on("values", extend);

  /* Time of a batch, from the figure itself. */
  function timeOf(gd, batch) {
    const clock = (gd.layout && gd.layout.meta) || { batches: [], times: [] };
    let found = null;
    for (let i = 0; i < clock.batches.length && clock.batches[i] <= batch; i += 1) found = clock.times[i];
    return found;
  }

  function moveCursor() {
    const gd = plot();
    if (!gd || !gd.layout || !window.Plotly) return;
    const x = pw.moment.at === null ? null : timeOf(gd, pw.moment.at);
    const shapes = gd.layout.shapes || [];
    const shown = shapes.find((shape) => shape.name === "cursor");
    if ((shown ? shown.x0 : null) === x) return;
    const line = { color: getComputedStyle(document.documentElement).getPropertyValue("--pw-text").trim(), width: 1.2 };
    const cursor = { type: "line", name: "cursor", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line, layer: "below" };
    window.Plotly.relayout(gd, { shapes: [...(x === null ? [] : [cursor]), ...shapes.filter((shape) => shape !== shown)] });
  }
  pw.on("moment", moveCursor);
})();
