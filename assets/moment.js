/* The moment: what the URL says, what the browser knows is newest, and the store pages read.

   URL: path = page, ?run=&at=&node=&frozen=1&show=&unit=. Every change goes through the URL and Dash's
   Location, so back, forward, reload and a copied link all mean the same. See dashboard/context.py
   for the store protocol. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  /* How soon after the last one the server is asked again: a small λ must not make it render all day. */
  const GAP_MS = { urgent: 150, news: 1000, numbers: 2000 };
  const RUNNING = ["starting", "running"];

  pw.moment = { path: "/", run: null, at: null, node: null, frozen: false, show: null, unit: null };
  /* What the shell and the deltas told: the run shown, its newest batch and record time. */
  pw.known = { run: null, state: null, now: null, time: null, plan: null, knobs: null };
  let news = 0;
  let pushed = { run: undefined, news: -1 };
  let lastPush = 0;
  let waiting = null; // timer of the next push
  let due = 0;

  function parse(path, search) {
    const fields = new URLSearchParams(search || "");
    const at = /^\d+$/.test(fields.get("at") || "") ? Number(fields.get("at")) : null;
    return {
      path: path || "/",
      run: fields.get("run") || null,
      at,
      node: fields.get("node") || null,
      frozen: fields.get("frozen") === "1" && at !== null,
      show: fields.get("show") || null,
      unit: fields.get("unit") || null,
    };
  }

  function search(moment) {
    const fields = new URLSearchParams();
    if (moment.run) fields.set("run", moment.run);
    if (moment.at !== null) fields.set("at", moment.at);
    if (moment.node) fields.set("node", moment.node);
    if (moment.frozen && moment.at !== null) fields.set("frozen", "1");
    if (moment.show) fields.set("show", moment.show);
    if (moment.unit) fields.set("unit", moment.unit);
    const text = fields.toString();
    return text ? "?" + text : "";
  }

  pw.running = () => RUNNING.includes(pw.known.state);

  pw.mode = function () {
    if (!pw.running()) return "replay";
    if (pw.moment.at === null) return "live";
    return pw.moment.frozen ? "frozen" : "replay";
  };

  /** The batch on screen. */
  pw.shown = () => (pw.moment.at === null ? pw.known.now : pw.moment.at);

  function data() {
    const { run, at, node, frozen, show, unit } = pw.moment;
    const batch = at === null ? pw.known.now : at;
    return { run, at, node, frozen, show, unit, batch, news };
  }

  /** Move: {path, run, at, node, frozen, show, unit}; absent fields stay, but show belongs to its page.
      replace: no new history entry. */
  pw.go = function (changes, replace) {
    const next = Object.assign({}, pw.moment, changes);
    if ("at" in changes && !("frozen" in changes)) next.frozen = false;
    if (next.path !== pw.moment.path && !("show" in changes)) next.show = null;
    if (changes.run && changes.run !== pw.moment.run) {
      next.at = "at" in changes ? changes.at : null;
      next.node = "node" in changes ? changes.node : null;
      next.unit = "unit" in changes ? changes.unit : null;
    }
    const url = next.path + search(next);
    if (url === window.location.pathname + window.location.search) return;
    window.history[replace ? "replaceState" : "pushState"]({}, "", url);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
  };

  pw.permalink = function () {
    const moment = Object.assign({}, pw.moment, { run: pw.known.run, at: pw.shown() });
    moment.frozen = pw.mode() !== "replay";
    return window.location.origin + moment.path + search(moment);
  };

  pw.freeze = () => pw.go({ at: pw.known.now, frozen: true });
  pw.resume = () => pw.go({ at: null, frozen: false });
  pw.toggleFreeze = function () {
    if (pw.mode() === "live" && pw.known.now !== null) pw.freeze();
    else if (pw.moment.at !== null) pw.resume();
  };

  /** Refresh what the server renders: "urgent" (or true), "news", or just newer "numbers". The page
      follows while LIVE, the shell unless FROZEN; news missed while frozen are told on resuming. */
  pw.refresh = function (what) {
    const kind = what === true ? "urgent" : what || "numbers";
    if (kind !== "numbers") news += 1;
    if (pw.mode() === "frozen" || (pw.mode() === "replay" && kind === "numbers")) return;
    const at = Math.max(Date.now(), lastPush + GAP_MS[kind]);
    if (waiting !== null && due <= at) return;
    window.clearTimeout(waiting);
    due = at;
    waiting = window.setTimeout(push, at - Date.now());
  };

  function push() {
    waiting = null;
    if (pw.mode() === "frozen") return;
    lastPush = Date.now();
    if (pw.mode() === "live" || pushed.news !== news) pw.setProps("pw-moment", { data: data() });
    pushShell();
  }

  /** Ask the server for the page anew: its run has just begun to exist. */
  pw.layOutAgain = function () {
    pw.setProps("pw-page-key", { data: { path: pw.moment.path, run: pw.moment.run, again: Date.now() } });
  };

  /* Without a run there is no stream to tell of one: look now and then. */
  window.setInterval(() => {
    if (pw.ready && !document.hidden && pw.known.run === null) pw.refresh(true);
  }, 3000);

  function pushShell() {
    if (pushed.run === pw.moment.run && pushed.news === news) return;
    pushed = { run: pw.moment.run, news };
    pw.setProps("pw-news", { data: { run: pw.moment.run, news } });
  }

  /* Location changed (by us, back, forward or a first load): [moment, page key, news key]. */
  function fromLocation(path, text) {
    pw.ready = true;
    const same = window.dash_clientside.no_update;
    const before = pw.moment;
    const first = pushed.run === undefined;
    pw.moment = parse(path, text);
    lastPush = Date.now();
    const moved = first || before.path !== pw.moment.path || before.run !== pw.moment.run;
    if (before.run !== pw.moment.run && pw.moment.run !== pw.known.run) pw.known.now = null;
    const behind = pushed.news !== news && !pw.moment.frozen;
    const shell = first || before.run !== pw.moment.run || behind;
    if (shell) pushed = { run: pw.moment.run, news };
    const turned = !first && before.path !== pw.moment.path;
    if (turned) window.scrollTo(0, 0);
    window.queueMicrotask(() => pw.emit("moment", { before, turned }));
    return [
      data(),
      moved ? { path: pw.moment.path, run: pw.moment.run } : same,
      shell ? { run: pw.moment.run, news } : same,
    ];
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.planwatch = Object.assign(window.dash_clientside.planwatch || {}, { fromLocation });

  /* Links and anything else with data-pw-* move the moment without a page load. */
  document.addEventListener("click", function (event) {
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const target = event.target instanceof Element && event.target.closest("[data-pw-path],[data-pw-at],[data-pw-node],[data-pw-unit]");
    if (!target || !plain) return;
    event.preventDefault();
    const wanted = target.dataset;
    const changes = {};
    if (wanted.pwPath) changes.path = wanted.pwPath;
    if (wanted.pwAt !== undefined) changes.at = wanted.pwAt === "now" ? null : Number(wanted.pwAt);
    if (wanted.pwNode !== undefined) changes.node = wanted.pwNode || null;
    if (wanted.pwUnit !== undefined) changes.unit = wanted.pwUnit || null;
    if (wanted.pwRun) changes.run = wanted.pwRun;
    pw.go(changes);
  });
})();
