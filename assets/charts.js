/* Plotly charts in the live path: traces with meta.live = 'entity|property' grow by a point. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});

  function point(trace, delta) {
    const [entity, property] = trace.meta.live.split("|");
    const own = delta.v[entity];
    const y = typeof own === "number" ? own : own && own[property];
    const x = trace.meta.x === "time" ? new Date(delta.t * 1000).toISOString() : delta.b;
    return y === undefined || x === undefined || x === null ? null : { x, y };
  }

  /* The points of a trace that it does not have yet. */
  function news(trace, batches) {
    if (!trace.meta || !trace.meta.live) return [];
    const last = trace.x && trace.x.length ? trace.x[trace.x.length - 1] : null;
    const found = batches.map((batch) => point(trace, batch)).filter(Boolean);
    return last === null ? found : found.filter((next) => next.x > last);
  }

  function extend(plot, batches, limit) {
    const grown = { x: [], y: [] };
    const indices = [];
    plot.data.forEach((trace, index) => {
      const fresh = news(trace, batches);
      if (!fresh.length) return;
      grown.x.push(fresh.map((next) => next.x));
      grown.y.push(fresh.map((next) => next.y));
      indices.push(index);
    });
    if (indices.length) window.Plotly.extendTraces(plot, grown, indices, limit);
  }

  /** Extend every live chart on the page by batches {b, t, v}, oldest first. */
  pw.extendCharts = function (batches) {
    if (!window.Plotly) return;
    for (const holder of document.querySelectorAll("[data-live-chart]")) {
      const plot = holder.querySelector(".js-plotly-plot");
      if (plot && plot.data) extend(plot, batches, Number(holder.dataset.liveChart));
    }
  };
})();
