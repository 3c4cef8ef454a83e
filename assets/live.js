/* The live path: one stream per tab, polling when there is none, straight to the page.

   Opens EventSource('/live?run=') for the running run on screen; closes while the tab is hidden;
   after failures polls '/live/poll?run=&since=' with at most one request in flight. While LIVE a
   delta goes to [data-live] elements, live charts and components ("values" event) in one animation
   frame; otherwise only the header's counter moves. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const KEPT = 2000; // latencies
  const POLL_MS = 500;
  const PATIENCE = 3; // failures of the stream before polling takes over
  const RETRY_MS = 15000; // how long polling lasts before the stream is tried again
  /* News by how soon they matter; the rest (results, matrices…) comes with the next numbers. */
  const URGENT = ["run", "queries", "plans", "knobs", "commands"];
  const NEWS = ["decisions", "events"];

  pw.latencies = []; // {b, ms}: record time to painted, while LIVE
  pw.link_state = "off"; // off | stream | poll
  let source = null;
  let streamed = null; // run of the open stream
  let cursor = null;
  let failures = 0;
  let poller = null;
  let polling = false;
  let queue = [];
  let frame = 0;

  function setLink(state) {
    pw.link_state = state;
    pw.attr(pw.byId("pw-shell"), "data-link", state);
  }

  function stop() {
    if (source) source.close();
    window.clearTimeout(poller);
    source = null;
    poller = null;
    streamed = null;
    setLink("off");
  }

  /* Open, keep or close the stream, whatever fits the run, its state and the tab. */
  function connect() {
    const run = pw.known.run;
    const wanted = run && pw.running() && !document.hidden;
    if (!wanted) return stop();
    if (streamed === run) return undefined;
    stop();
    streamed = run;
    cursor = null;
    failures = 0;
    return stream(run);
  }

  function stream(run) {
    setLink("stream");
    source = new EventSource("/live?run=" + encodeURIComponent(run));
    source.addEventListener("delta", (event) => {
      failures = 0;
      receive(JSON.parse(event.data));
    });
    source.onerror = () => {
      failures += 1;
      if (source.readyState === EventSource.CLOSED || failures >= PATIENCE) fallBack(run);
    };
  }

  function fallBack(run) {
    if (source) source.close();
    source = null;
    setLink("poll");
    const until = Date.now() + RETRY_MS;
    const again = async () => {
      if (streamed !== run) return;
      await poll(run);
      if (streamed !== run) return;
      if (Date.now() > until) stream(run);
      else poller = window.setTimeout(again, POLL_MS);
    };
    again();
  }

  async function poll(run) {
    if (polling) return;
    polling = true;
    try {
      const since = cursor === null ? "" : "&since=" + cursor;
      const answer = await fetch("/live/poll?run=" + encodeURIComponent(run) + since, { credentials: "same-origin" });
      if (answer.status === 200) receive(await answer.json());
    } catch {
      /* the server is away: the age in the header says so, the next poll tries again */
    } finally {
      polling = false;
    }
  }

  function receive(delta) {
    for (const one of Array.isArray(delta) ? delta : [delta]) if (one.run === streamed) queue.push(one);
    if (queue.length && !frame) frame = window.requestAnimationFrame(apply);
  }

  function apply() {
    frame = 0;
    const deltas = queue;
    queue = [];
    for (const delta of deltas) take(delta);
    if (!pw.running()) stop();
  }

  function take(delta) {
    const fresh = typeof delta.b === "number" && (pw.known.now === null || delta.b > pw.known.now);
    if (delta.c !== undefined && delta.c !== null) cursor = delta.c;
    if (fresh) pw.known.now = delta.b;
    if (typeof delta.t === "number") pw.known.time = Math.max(pw.known.time || 0, delta.t);
    const ended = delta.st && delta.st !== pw.known.state;
    pw.emit("delta", delta);
    const live = pw.mode() === "live";
    if (live && delta.v) paint(delta, fresh);
    const told = (kinds) => (delta.new || []).some((kind) => kinds.includes(kind));
    if (ended || delta.gap || told(URGENT)) pw.refresh("urgent");
    else if (told(NEWS)) pw.refresh("news");
    else if (fresh) pw.refresh("numbers");
    if (ended) pw.drawHeader();
  }

  function paint(delta, fresh) {
    pw.emit("values", delta);
    for (const node of document.querySelectorAll("[data-live]")) {
      const [entity, property] = node.dataset.live.split("|");
      const own = delta.v[entity];
      const value = typeof own === "number" ? own : own && own[property];
      if (value === undefined) continue;
      pw.text(node, pw.show(value, node.dataset.form));
      const cell = node.closest("[data-sort]");
      if (cell) cell.dataset.sort = value;
    }
    pw.extendCharts(pw.pointsOf(delta));
    if (fresh) window.requestAnimationFrame(() => measure(delta));
  }

  const POINT = ["dropping_ratio", "visits_per_tuple", "tuples_per_s", "batch_ms"];

  /** A delta as one {b, t, v} for every batch it tells of; all values come with the newest. */
  pw.pointsOf = function (delta) {
    const points = (delta.pts || []).map(([b, t, ...numbers]) => ({
      b,
      t,
      v: { system: Object.fromEntries(POINT.map((name, i) => [name, numbers[i]])) },
    }));
    const last = points[points.length - 1];
    if (last && last.b === delta.b) last.v = delta.v;
    else if (typeof delta.b === "number" && delta.v) points.push(delta);
    return points;
  };

  /* In the frame after the one that drew: the pixels are out. */
  function measure(delta) {
    pw.latencies.push({ b: delta.b, ms: Date.now() - 1000 * delta.t });
    if (pw.latencies.length > KEPT) pw.latencies.splice(0, pw.latencies.length - KEPT);
  }

  document.addEventListener("visibilitychange", connect);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", connect);
  pw.on("shell", connect);
})();
