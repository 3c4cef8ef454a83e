/* When a panel is drawn again: each names the kinds of news it shows (dashboard/panels).

   A panel has a dcc.Store with what its drawing depends on; panelKeys computes all of them from the
   moment and answers no_update where nothing changed. A stream of batches then costs the server
   nothing for panels whose records did not change. A page comes with all its panels drawn: the keys
   begin with what was so when it was asked for, and nothing is asked for the page that is left. */
import { byId, on } from "./core.js";
import { noUpdate } from "./dash.js";
import { currentMode, refresh } from "./moment.js";

/* What came so far: gaps of the stream, news by kind, changes of what panels there are. Replaced whole,
   never changed. */
let told = { gaps: 0, news: {}, layouts: 0 };
let layout = { run: null, mark: "", state: "" };
/* The batch of the newest news of a kind. */
const batches = {};
/* The stream told of no news up to this batch, whatever was news there. */
let untold = -1;
let caughtUp = true;
/* What was so when the page on screen was asked for, and the keys that its panels came with. */
let asked = { place: "", told };
const came = new Map();

function count(kinds, gaps) {
  const more = kinds.map((kind) => [kind, (told.news[kind] || 0) + 1]);
  told = { ...told, gaps: told.gaps + gaps, news: { ...told.news, ...Object.fromEntries(more) } };
}

/** The newest batch with news of some kinds, -1 before the first.
    @param {string[]} kinds */
export const newsBatch = (kinds) => Math.max(untold, ...kinds.map((kind) => batches[kind] ?? -1));

/** Draw everything again, as it is of a batch before the stream began; once for each beginning.
    @param {number} of the batch it is of */
export function catchUp(of) {
  if (of >= untold || caughtUp) return;
  caughtUp = true;
  count([], 1);
  refresh(true);
}

on("joined", ({ b }) => {
  untold = b ?? -1;
  caughtUp = false;
});

on("told", (delta) => {
  if (delta.gap || (delta.new || []).length) count(delta.new || [], delta.gap ? 1 : 0);
  if (typeof delta.b === "number") for (const kind of delta.new || []) batches[kind] = delta.b;
});

function forget() {
  for (const kind of Object.keys(batches)) delete batches[kind];
  untold = -1;
}

/* The panels of a run's pages may have become others. */
on("shell", ({ run, layout: mark }) => {
  const before = layout;
  layout = { run: run && run.id, mark, state: run && run.state };
  if (before.run !== layout.run) forget();
  if (before.run !== layout.run || (before.mark === mark && before.state === layout.state)) return;
  if (before.state !== layout.state) count(["run"], 0);
  told = { ...told, layouts: told.layouts + 1 };
  refresh(true);
});

/* What this tab wrote down; an ended run has no stream to tell. */
on("noted", () => {
  count(["commands"], 0);
  refresh(true);
});

const placeOf = ({ run, at, node, frozen, show, unit, tables, span }) => JSON.stringify([run, at, node, frozen, show, unit, tables, span]);

on("layout", (data) => {
  asked = { place: placeOf(data), told };
  came.clear();
});

/* A hidden tab has no stream: on its return everything is asked for once. */
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  count([], 1);
  refresh(false);
});

/* A panel that has nothing to show, and is hidden, is seldom asked whether it has. */
const HIDDEN_BEATS = 5;
const beatOf = ({ beat_ms, section }) => Math.floor(performance.now() / (beat_ms * ((byId(section + "-box") || {}).hidden ? HIDDEN_BEATS : 1)));

/* Whether one of the sections is looked at as a table. */
const isTabled = (data, sections) => (data.tables || "").split(",").some((id) => sections.includes(id));

/* What the drawing of a panel depends on. watch: news that count at once; beat_ms: it also follows the
   batches, at most so often; whole: it shows the run as a whole, so that the cursor of a
   replay and the pinned node change nothing, nor LIVE numbers (they extend the traces), unless the
   table of its section is what is looked at; show, span: it depends on those of the URL; layout: on what panels
   there are; tables: sections whose tables it draws, when they are looked at. told: the news so far. */
function keyOf(data, watch, { gaps, news, layouts }) {
  const { run, at, node, frozen, unit } = data;
  const live = currentMode() === "live";
  const key = { run, unit, frozen, news: frozen ? null : [gaps, ...watch.news.map((kind) => news[kind] || 0)] };
  if (watch.show) key.show = data.show;
  if (watch.span) key.span = data.span;
  if (watch.layout) key.layouts = frozen ? null : layouts;
  const table = isTabled(data, watch.tables);
  if (watch.whole) return { ...key, at: frozen ? at : null, table: table ? data.batch : null };
  return { ...key, at, node, table: table || null, beat: live && watch.beat_ms ? beatOf(watch) : null };
}

/** A clientside callback: what the drawing of each panel on the page depends on, or that it did not
    change. keys: what the stores hold, null for a panel as it came; Dash drops an answer that a newer
    request overtakes, so nothing else knows what was asked for. */
export const panelKeys = (data, watches, keys) => watches.map((watch, index) => panelKey(data, watch, keys[index]));

/* numbers: whether all but the numbers and the choice of tables is as it was. among: there is nothing to draw without such elements. */
function panelKey(data, watch, stored) {
  if (!data || (watch.among && !document.querySelector(watch.among))) return noUpdate();
  const { section } = watch;
  if (!came.has(section) && placeOf(data) === asked.place) came.set(section, keyOf(data, watch, asked.told));
  const before = stored ? withoutNumbers(stored) : came.get(section);
  const key = keyOf(data, watch, told);
  if (same(before, key) || (before !== undefined && same({ ...before, table: null }, key))) return noUpdate();
  return { ...key, numbers: before !== undefined && same({ ...before, beat: null, table: null }, { ...key, beat: null, table: null }) };
}

function withoutNumbers({ numbers, ...key }) {
  return key;
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
