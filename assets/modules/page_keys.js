/* When a page's server part is rendered again: each page names the kinds of news it shows.

   A page has a dcc.Store with what its rendering depends on; these functions compute it from the
   moment and answer no_update while nothing of it changed. A stream of batches then costs the
   server nothing for pages whose records did not change. */
import { on } from "./core.js";
import { noUpdate } from "./dash.js";
import { currentMode, refresh } from "./moment.js";

const BEAT_MS = 2000;
const counts = {};
let gaps = 0;

on("delta", (delta) => {
  for (const kind of delta.new || []) counts[kind] = (counts[kind] || 0) + 1;
  if (delta.gap) gaps += 1;
});

/* A hidden tab has no stream: on its return everything is asked for once. */
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  gaps += 1;
  refresh(false);
});

/* kinds: news that count at once. beats: also follow the batches, at most every two seconds. */
function keyOf(moment, kinds, beats) {
  const { run, at, node, frozen } = moment;
  const live = currentMode() === "live";
  const news = frozen ? null : [gaps, ...kinds.map((kind) => counts[kind] || 0)];
  const beat = live && beats ? Math.floor(Date.now() / BEAT_MS) : null;
  return { run, at, node, frozen, news, beat };
}

const unless = (key, last) => (JSON.stringify(key) === JSON.stringify(last) ? noUpdate() : key);

/** A clientside callback (moment, last key) -> key of a page. change(key, moment) may refine it.
    @param {string[]} kinds
    @param {boolean} beats
    @param {(key: any, moment: any) => object} [change] */
export function pageKey(kinds, beats, change) {
  return function (moment, last) {
    if (!moment) return noUpdate();
    const key = keyOf(moment, kinds, beats);
    return unless(change ? change(key, moment) : key, last);
  };
}

export const runsKey = pageKey(["run", "plans"], true);
export const matrixKey = pageKey(["plans", "queries"], true);
export const filtersKey = pageKey(["plans", "queries", "knobs"], true);
export const decisionsKey = pageKey(["decisions", "plans", "run"], false);
export const resultsKey = pageKey(["queries", "commands", "misfits", "run"], true);
