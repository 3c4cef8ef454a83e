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

  /** Extend every live chart on the page by the values of a delta, once per batch. */
  pw.extendCharts = function (delta) {
    if (!window.Plotly) return;
    for (const holder of document.querySelectorAll("[data-live-chart]")) {
      const plot = holder.querySelector(".js-plotly-plot");
      if (!plot || !plot.data) continue;
      const grown = { x: [], y: [] };
      const indices = [];
      plot.data.forEach((trace, index) => {
        const next = trace.meta && trace.meta.live ? point(trace, delta) : null;
        const last = trace.x && trace.x.length ? trace.x[trace.x.length - 1] : null;
        if (!next || last === next.x) return;
        grown.x.push([next.x]);
        grown.y.push([next.y]);
        indices.push(index);
      });
      if (indices.length) window.Plotly.extendTraces(plot, grown, indices, Number(holder.dataset.liveChart));
    }
  };
})();
