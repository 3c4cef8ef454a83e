/* When a page's server part is rendered again: each page names the kinds of news it shows.

   A page has a dcc.Store with what its rendering depends on; these functions compute it from the
   moment and answer no_update while nothing of it changed. A stream of batches then costs the
   server nothing for pages whose records did not change. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const BEAT_MS = 2000;
  const counts = {};
  let gaps = 0;

  pw.on("delta", (delta) => {
    for (const kind of delta.new || []) counts[kind] = (counts[kind] || 0) + 1;
    if (delta.gap) gaps += 1;
  });

  /* A hidden tab has no stream: on its return everything is asked for once. */
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    gaps += 1;
    pw.refresh(false);
  });

  /* kinds: news that count at once. beats: also follow the batches, at most every two seconds. */
  function keyOf(moment, kinds, beats) {
    const { run, at, node, frozen } = moment;
    const live = pw.mode() === "live";
    const news = frozen ? null : [gaps, ...kinds.map((kind) => counts[kind] || 0)];
    const beat = live && beats ? Math.floor(Date.now() / BEAT_MS) : null;
    return { run, at, node, frozen, news, beat };
  }

  const unless = (key, last) => (JSON.stringify(key) === JSON.stringify(last) ? window.dash_clientside.no_update : key);

  /** A clientside callback (moment, last key) -> key for a page. change(key, moment) may refine it. */
  pw.pageKey = function (name, kinds, beats, change) {
    const callback = function (moment, last) {
      if (!moment) return window.dash_clientside.no_update;
      const key = keyOf(moment, kinds, beats);
      return unless(change ? change(key, moment) : key, last);
    };
    window.dash_clientside = window.dash_clientside || {};
    const functions = (window.dash_clientside.planwatch = window.dash_clientside.planwatch || {});
    functions[name] = callback;
  };

  pw.pageKey("runsKey", ["run", "plans"], true);
  pw.pageKey("matrixKey", ["plans", "queries"], true);
  pw.pageKey("filtersKey", ["plans", "queries", "knobs"], true);
  pw.pageKey("decisionsKey", ["decisions", "plans", "run"], false);
  pw.pageKey("resultsKey", ["queries", "commands", "misfits", "run"], true);
})();
