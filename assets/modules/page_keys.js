/* When a panel is drawn again: each names the kinds of news it shows (dashboard/panels).

   A panel has a dcc.Store with what its drawing depends on; panelKey computes it from the moment
   and answers no_update while nothing of it changed. A stream of batches then costs the server
   nothing for panels whose records did not change. */
import { byId, on } from "./core.js";
import { noUpdate } from "./dash.js";
import { currentMode, refresh } from "./moment.js";

const BEAT_MS = 2000;
const counts = {};
let gaps = 0;

on("delta", (delta) => {
  for (const kind of delta.new || []) counts[kind] = (counts[kind] || 0) + 1;
  if (delta.gap) gaps += 1;
});

/* What this tab wrote down; an ended run has no stream to tell. */
on("noted", () => {
  counts.commands = (counts.commands || 0) + 1;
  refresh(true);
});

/* A hidden tab has no stream: on its return everything is asked for once. */
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  gaps += 1;
  refresh(false);
});

const isTabled = (id) => (byId(id) || { dataset: {} }).dataset.twin === "table";

/* What the drawing of a panel depends on. watch: news that count at once; beats: it also follows the
   batches, at most every two seconds; whole: it shows the run as a whole, so that the cursor of a
   replay and the pinned node change nothing, nor LIVE numbers (they extend the traces), unless the
   table of its section is what is looked at; show: it depends on the URL's show. */
function watchKey(moment, watch) {
  const { run, at, node, frozen, unit } = moment;
  const live = currentMode() === "live";
  const news = frozen ? null : [gaps, ...watch.news.map((kind) => counts[kind] || 0)];
  const key = { run, unit, frozen, news };
  if (watch.show) key.show = moment.show;
  if (watch.whole) return { ...key, at: frozen ? at : null, table: isTabled(watch.section) ? moment.batch : null };
  return { ...key, at, node, beat: live && watch.beats ? Math.floor(Date.now() / BEAT_MS) : null };
}

/** A clientside callback: what the drawing of a panel depends on, or that it did not change. */
export function panelKey(moment, watch, last) {
  if (!moment || !watch) return noUpdate();
  const key = watchKey(moment, watch);
  return JSON.stringify(key) === JSON.stringify(last) ? noUpdate() : key;
}
