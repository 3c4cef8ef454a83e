/* The moment: what the URL says, what the browser knows is newest, and the store pages read.

   URL: path = page, ?run=&at=&node=&frozen=1&show=&unit=, and &heat=&tables=&span=&scale=&tour=&stage=. Every change goes through the URL and Dash's
   Location, so back, forward, reload and a copied link all mean the same. See dashboard/base/context.py
   for the store protocol. */
import { OWN, parse, search } from "./address.js";
import { emit, on } from "./core.js";
import { noUpdate, begin, hasBegun, setProps } from "./dash.js";
import { addressOf, ownPath } from "./home.js";
import { busy, settled } from "./settled.js";

/* How soon after the last time the server is asked again: a small λ must not make it render all day, nor
   the browser draw. At least so many ms, and so many times what asking and drawing took. */
const GAP_MS = { urgent: 150, news: 5000, numbers: 5000 };
const TIMES = { urgent: 1, news: 4, numbers: 8 };
const LONGEST_MS = 10000;
/* A page that nobody has touched for so long asks for numbers half as often. */
const UNTOUCHED_MS = 30000;
const RUNNING = ["starting", "running"];

/** What the URL says, replaced whole by every move.
    @type {import("./address.js").Moment} */
export let moment = parse("/", "");
/* What the shell and the deltas told: the run shown, its newest batch and record time, the plan it ran
   under; ahead: the batch that waits to be drawn with its plan. */
export const known = { run: null, state: null, now: null, time: null, plan: null, ahead: null };
const asking = []; // those who wait for the run
let news = 0;
let pushed = { run: undefined, news: -1 };
let lastPush = -Infinity; // by a clock that nobody sets, as all that is counted from here to there
let took = 0; // ms from the last push to what it drew
let waiting = null; // timer of the next push
let due = 0;
let touched = -UNTOUCHED_MS;

export const running = () => RUNNING.includes(known.state);

export function currentMode() {
  if (!running()) return "replay";
  if (moment.at === null) return "live";
  return moment.frozen ? "frozen" : "replay";
}

/** Resolves with the run on screen: a page can be clicked before it is known. */
export const runKnown = () => (known.run ? Promise.resolve(known.run) : new Promise((done) => asking.push(done)));

on("shell", () => {
  if (known.run) for (const done of asking.splice(0)) done(known.run);
});

/** The batch on screen. */
export const shownBatch = () => (moment.at === null ? known.now : moment.at);

function data() {
  const { run, at, node, frozen, show, unit, tables, span } = moment;
  const batch = at === null ? (known.ahead ?? known.now) : at;
  return { run, at, node, frozen, show, unit, tables, span, batch, news };
}

/** Move: some fields of the moment; absent ones stay, but show and tables belong to their page.
    replace: no new history entry. Answers whether that changes anything. */
export function go(changes, replace) {
  const next = Object.assign({}, moment, changes);
  if ("at" in changes && !("frozen" in changes)) next.frozen = false;
  if (next.path !== moment.path) for (const own of ["show", "tables"]) if (!(own in changes)) next[own] = null;
  if (changes.run && changes.run !== moment.run) {
    next.at = "at" in changes ? changes.at : null;
    next.node = "node" in changes ? changes.node : null;
    next.unit = "unit" in changes ? changes.unit : null;
    next.span = "span" in changes ? changes.span : null;
  }
  const url = addressOf(next.path) + search(next);
  if (url === window.location.pathname + window.location.search) return false;
  window.history[replace ? "replaceState" : "pushState"]({}, "", url);
  window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
  return true;
}

export function permalink() {
  const shown = { ...moment, run: known.run, at: shownBatch(), frozen: currentMode() !== "replay" };
  return window.location.origin + addressOf(shown.path) + search(shown);
}

export const freeze = () => go({ at: known.now, frozen: true });
export const resume = () => go({ at: null, frozen: false });
export function toggleFreeze() {
  if (currentMode() === "live" && known.now !== null) freeze();
  else if (moment.at !== null) resume();
}

/** Refresh what the server renders: "urgent" (or true), "news", or just newer "numbers". The page
    follows while LIVE, the shell unless FROZEN; news missed while frozen are told on resuming. */
export function refresh(what) {
  const kind = what === true ? "urgent" : what || "numbers";
  if (kind !== "numbers") news += 1;
  if (currentMode() === "frozen" || (currentMode() === "replay" && kind === "numbers")) return;
  const rest = kind !== "urgent" && isUntouched() ? 2 : 1;
  const gap = rest * Math.max(GAP_MS[kind], Math.min(LONGEST_MS, TIMES[kind] * took));
  const at = Math.max(performance.now(), lastPush + gap);
  if (waiting !== null && due <= at) return;
  window.clearTimeout(waiting);
  due = at;
  waiting = window.setTimeout(push, at - performance.now());
}

/** Whether nobody has had a hand on the page for a while. */
export const isUntouched = () => performance.now() - touched > UNTOUCHED_MS;

for (const kind of ["pointermove", "pointerdown", "keydown", "wheel"]) {
  window.addEventListener(kind, () => (touched = performance.now()), { capture: true, passive: true });
}

/* What is asked while the page still answers would throw that answer away. */
async function push() {
  if (busy()) await settled();
  waiting = null;
  if (currentMode() === "frozen") return;
  lastPush = performance.now();
  if (currentMode() === "live" || pushed.news !== news) setProps("pw-moment", { data: data() });
  pushShell();
  const since = lastPush;
  await settled();
  took = performance.now() - since;
}

const scheme = () => window.planwatch.theme.scheme();

/* What page is asked for, once it is. */
function pageKey() {
  emit("layout", data());
  return { path: moment.path, run: moment.run, theme: scheme() };
}

/** Ask the server for the page anew: its run has just begun to exist. */
export function layOutAgain() {
  setProps("pw-page-key", { data: { ...pageKey(), again: performance.now() } });
}

/* Without a run there is no stream to tell of one: look now and then. */
window.setInterval(() => {
  if (hasBegun() && !document.hidden && known.run === null) refresh(true);
}, 3000);

/** Ask what the header and the strip show anew; the page stays as it is. */
export function askShell() {
  news += 1;
  pushShell();
}

function pushShell() {
  if (pushed.run === moment.run && pushed.news === news) return;
  pushed = { run: moment.run, news };
  setProps("pw-news", { data: { run: moment.run, news } });
}

/* Location changed (by us, back, forward or a first load): [moment, page key, news key, theme]. */
export function fromLocation(path, text) {
  begin();
  const before = moment;
  const first = pushed.run === undefined;
  moment = parse(ownPath(path), text);
  lastPush = performance.now();
  const moved = first || before.path !== moment.path || before.run !== moment.run;
  if (before.run !== moment.run && moment.run !== known.run) Object.assign(known, { now: null, plan: null, ahead: null });
  const behind = pushed.news !== news && !moment.frozen;
  const shell = first || before.run !== moment.run || behind;
  if (shell) pushed = { run: moment.run, news };
  const turned = !first && before.path !== moment.path;
  if (turned) window.scrollTo(0, 0);
  window.queueMicrotask(() => emit("moment", { before, turned }));
  const seen = first || Object.keys(moment).some((name) => !OWN.includes(name) && moment[name] !== before[name]);
  return [
    seen ? data() : noUpdate(),
    moved ? pageKey() : noUpdate(),
    shell ? { run: moment.run, news } : noUpdate(),
    first ? scheme() : noUpdate(),
  ];
}

/* Links and anything else with data-pw-* move the moment without a page load. */
document.addEventListener("click", function (event) {
  const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  const target = event.target instanceof Element && event.target.closest("[data-pw-path],[data-pw-at],[data-pw-node],[data-pw-unit],[data-pw-show],[data-pw-span]");
  if (!target || !plain) return;
  event.preventDefault();
  const wanted = target.dataset;
  const changes = {};
  if (wanted.pwPath) changes.path = wanted.pwPath;
  if (wanted.pwAt !== undefined) changes.at = wanted.pwAt === "now" ? null : Number(wanted.pwAt);
  if (wanted.pwNode !== undefined) changes.node = wanted.pwNode || null;
  if (wanted.pwUnit !== undefined) changes.unit = wanted.pwUnit || null;
  if (wanted.pwShow !== undefined) changes.show = wanted.pwShow || null;
  if (wanted.pwSpan !== undefined) changes.span = wanted.pwSpan || null;
  if (wanted.pwRun) changes.run = wanted.pwRun;
  go(changes);
});
