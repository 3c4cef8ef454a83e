/* The live path: one stream per tab, polling when there is none, straight to the page.

   Opens EventSource('/live?run=') for the running run on screen; closes while the tab is hidden;
   after failures polls '/live/poll?run=&since=' with at most one request in flight. While LIVE a
   delta goes to [data-live] elements, live charts and components ("values" event) in one animation
   frame; otherwise only the header's counter moves. A page that nobody touches is drawn for every second
   of the deltas, at once when more than numbers is told.

   What is painted is one transaction, of one batch under one plan: header, strip, graph and numbers move
   together. A delta of a batch under another plan waits until the server has drawn that plan. */
import { ownName } from "./api.js";
import { extendCharts } from "./charts.js";
import { hearTime } from "./clock.js";
import { byId, emit, on, setAttr, setText } from "./core.js";
import { show } from "./format.js";
import { currentShell, drawHeader } from "./header.js";
import { addressOf } from "./home.js";
import { currentMode, isUntouched, known, refresh, running } from "./moment.js";
import { continued, merged, valueOf } from "./points.js";
import { atOnce } from "./react.js";
import { newerOf } from "./signs.js";

const KEPT = 2000; // latencies
const RECENT = 240; // batches, for figures drawn later than those were told
const POLL_MS = 500;
const PATIENCE = 3; // failures of the stream before polling takes over
const REST_MS = 1500; // between two drawings of an untouched page, more than one pace of deltas
const LATE_MS = 2500; // so long numbers wait for the next delta, if none comes
const RETRY_MS = 15000; // how long polling lasts before the stream is tried again
const HELD_MS = 5000; // so long a batch under another plan waits to be drawn
/* News by how soon they matter; the rest (results, matrices…) comes with the next numbers. */
const URGENT = ["run", "queries", "plans", "knobs", "commands"];
const NEWS = ["decisions", "events"];

export const latencies = []; // {b, ms}: record time to painted, while LIVE
let source = null;
let streamed = null; // run of the open stream
let joined = false; // whether something came of it
let cursor = null;
let failures = 0;
let poller = null;
let polling = false;
let queue = [];
let recent = [];
let frame = 0;
let drawnAt = -REST_MS;
let resting = null; // timer of what waits on an untouched page
let held = null; // the delta that waits for its plan to be drawn
let holding = null; // timer of its patience
let overdue = null; // the plan that was waited for in vain
let graph = null; // {run, version, batch} of the graph on the page

function setLink(state) {
  setAttr(byId("pw-shell"), "data-link", state);
}

function stop() {
  if (source) source.close();
  window.clearTimeout(poller);
  release();
  source = null;
  poller = null;
  streamed = null;
  setLink("off");
  emit("present", []);
}

/* Open, keep or close the stream, whatever fits the run, its state and the tab. */
function connect() {
  const run = known.run;
  const wanted = run && running() && !document.hidden;
  if (!wanted) return stop();
  if (streamed === run) return undefined;
  stop();
  streamed = run;
  joined = false;
  cursor = null;
  recent = [];
  failures = 0;
  return stream(run);
}

function stream(run) {
  setLink("stream");
  source = new EventSource(addressOf(`/live?${new URLSearchParams({ run, name: ownName() })}`));
  source.addEventListener("present", (event) => emit("present", JSON.parse(event.data)));
  source.addEventListener("delta", (event) => {
    failures = 0;
    receive(JSON.parse(event.data));
  });
  source.onerror = () => {
    emit("present", []);
    failures += 1;
    if (source.readyState === EventSource.CLOSED || failures >= PATIENCE) fallBack(run);
  };
}

function fallBack(run) {
  if (source) source.close();
  source = null;
  setLink("poll");
  const until = performance.now() + RETRY_MS;
  const again = async () => {
    if (streamed !== run) return;
    await poll(run);
    if (streamed !== run) return;
    if (performance.now() > until) stream(run);
    else poller = window.setTimeout(again, POLL_MS);
  };
  again();
}

async function poll(run) {
  if (polling) return;
  polling = true;
  try {
    const since = cursor === null ? "" : "&since=" + cursor;
    const answer = await fetch(addressOf("/live/poll?run=" + encodeURIComponent(run) + since), { credentials: "same-origin" });
    if (answer.status === 200) receive(await answer.json());
  } catch {
    /* the server is away: the age in the header says so, the next poll tries again */
  } finally {
    polling = false;
  }
}

function receive(delta) {
  const fresh = (Array.isArray(delta) ? delta : [delta]).filter(({ run }) => run === streamed);
  for (const one of fresh) hearTime(one.run, one.now);
  if (fresh.length && !joined) emit("joined", fresh[0]);
  joined = joined || fresh.length > 0;
  queue.push(...fresh);
  if (!queue.length) return;
  const since = performance.now() - drawnAt;
  if (!isUntouched() || since >= REST_MS || queue.some(isUrgent)) draw();
  else if (resting === null) resting = window.setTimeout(draw, LATE_MS - since);
}

const isNew = (delta, kinds) => (delta.new || []).some((kind) => kinds.includes(kind));
const isUrgent = (delta) => delta.gap || delta.st !== known.state || isNew(delta, URGENT);

function draw() {
  window.clearTimeout(resting);
  resting = null;
  if (!frame) frame = window.requestAnimationFrame(apply);
}

function apply() {
  frame = 0;
  if (held) return;
  drawnAt = performance.now();
  const deltas = queue.filter(({ run }) => run === streamed);
  queue = [];
  if (deltas.length) tell(merged(deltas));
  if (!running()) stop();
}

/* News count with the batch they came in: a panel that is drawn for them is drawn as of that. */
function tell(delta) {
  emit("told", delta);
  takeOrHold(delta);
}

/* Whether header and graph know of the plan that the batch of a delta ran under. */
function isDrawn({ run, pv, b }) {
  const named = known.plan === pv || ((currentShell() || {}).now ?? -1) >= b;
  return named && (!graph || (graph.run === run && graph.version === (pv || 0)));
}

function takeOrHold(delta) {
  const goesOn = currentMode() === "live" && known.plan !== null && typeof delta.b === "number" && delta.st === known.state;
  if (!goesOn || delta.pv === overdue || isDrawn(delta)) return take(delta);
  held = delta;
  known.ahead = delta.b;
  holding = window.setTimeout(() => release((overdue = delta.pv)), HELD_MS);
  return refresh("urgent");
}

/* Take what was held, drawn or not: what is older says so. */
function release() {
  window.clearTimeout(holding);
  const delta = held;
  held = null;
  known.ahead = null;
  if (delta && delta.run === streamed) take(delta);
  if (queue.length) draw();
}

/* In the same task as what the server drew, but after all of it. */
function releaseDrawn() {
  queueMicrotask(() => {
    if (held && isDrawn(held) && (!graph || graph.batch >= held.b)) release();
  });
}

function take(delta) {
  const fresh = typeof delta.b === "number" && (known.now === null || delta.b > known.now);
  if (delta.c !== undefined && delta.c !== null) cursor = delta.c;
  const ended = delta.st && delta.st !== known.state;
  atOnce(() => {
    if (fresh) known.now = delta.b;
    if (typeof delta.b === "number") known.plan = delta.pv;
    known.time = newerOf(known.time, delta.t);
    emit("delta", delta);
    if (currentMode() === "live" && delta.v) paint(delta, fresh);
    emit("painted");
  });
  if (ended || delta.gap || isNew(delta, URGENT)) refresh("urgent");
  else if (isNew(delta, NEWS)) refresh("news");
  else if (fresh) refresh("numbers");
  if (ended) drawHeader();
}

function paint(delta, fresh) {
  emit("values", delta);
  for (const node of document.querySelectorAll("[data-live]")) {
    const [entity, property] = node.dataset.live.split("|");
    const value = valueOf(delta.v, entity, property);
    if (value === undefined) continue;
    setText(node, show(value, node.dataset.form));
    setAttr(node, "data-as-of", delta.b);
  }
  recent = continued(recent, delta, RECENT);
  emit("points", recent);
  extendCharts(recent);
  if (fresh) window.requestAnimationFrame(() => measure(delta));
}

/* In the frame after the one that drew: the pixels are out. */
function measure(delta) {
  latencies.push({ b: delta.b, ms: Date.now() - 1000 * delta.t });
  if (latencies.length > KEPT) latencies.splice(0, latencies.length - KEPT);
}

document.addEventListener("visibilitychange", connect);
window.addEventListener("pagehide", stop);
window.addEventListener("pageshow", connect);
on("shell", connect);
on("name", () => {
  if (streamed === null) return;
  stop();
  connect();
});
on("shell", releaseDrawn);
on("drawn", (what) => {
  graph = what;
  releaseDrawn();
});
