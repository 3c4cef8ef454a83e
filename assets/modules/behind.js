/* How far the run shown is behind its input, in the header while it is true: tuples that wait, how much
   work that is, whether they grow or when they will be worked off, when state will be at its limit, and
   what takes most of the work. */
import { byId, on, setAttr, setText } from "./core.js";
import { age, show } from "./format.js";
import { currentShell } from "./header.js";
import { currentMode, known } from "./moment.js";
import { valueOf } from "./points.js";

const OVER_S = 30; // what a rate is taken over
const LEAST_S = 3;
const BATCHES = 3; // so many batches may wait: more is a backlog
const STEADY = 0.02; // of the backlog in a second is no change
const SOON_S = 3600; // a limit that is farther off is not told

let seen = []; // {t, n}, oldest first
let run = null;
let full = null; // seconds until state is at its limit, as its alert forecasts; null: it is not

/** Tuples a second by which a backlog grows: least squares over [{t, n}]; null for too short a time. */
export function growth(points) {
  const first = points[0];
  const last = points[points.length - 1];
  if (points.length < 3 || last.t - first.t < LEAST_S) return null;
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [t, n] = [mean((point) => point.t), mean((point) => point.n)];
  const spread = mean((point) => (point.t - t) ** 2);
  return spread > 0 ? mean((point) => (point.t - t) * (point.n - n)) / spread : null;
}

/** The part that takes most of the work of a batch, with its share; '' where none is told. works:
    [[entity, name, property], ...], the property the time of one tuple, see dashboard/views/shell.py;
    values: of a delta. */
export function slowestOf(works, values) {
  const times = works.map(([entity, name, property]) => [name, valueOf(values, entity, property) * valueOf(values, entity, "reached_tuples")]);
  const known = times.filter(([, time]) => time > 0);
  const [name, most] = known.reduce((first, one) => (first[1] >= one[1] ? first : one), ["", 0]);
  return name ? `${name} ${show(most / known.reduce((sum, [, time]) => sum + time, 0), "pct")}` : "";
}

/** What is told of a backlog; '' where few tuples wait. batch: tuples that a batch takes; done: tuples a
    second; slowest: what takes most of the work, or ''; full: seconds until state is at its limit, or
    null. */
export function behindWords(points, batch, done = 0, slowest = "", full = null) {
  const last = points[points.length - 1];
  if (!last || last.n <= 0 || last.n < BATCHES * batch) return "";
  const work = done > 0 ? ` (${age(last.n / done)} of work)` : "";
  const waits = `${show(last.n, "si")} tuples wait${work}`;
  const ends = full !== null && full < SOON_S ? `, state full${full > 0 ? ` in ${age(full)}` : ""}` : "";
  const most = `${ends}${slowest ? `, slowest ${slowest}` : ""}`;
  const rate = growth(points);
  if (rate === null || Math.abs(rate) < STEADY * last.n) return `behind: ${waits}${most}`;
  if (rate > 0) return `behind: +${show(rate, "si")}/s, ${waits}${most}`;
  return `catching up: ${waits}, worked off in ${age(last.n / -rate)}`;
}

function draw(batch, done = 0, slowest = "") {
  const node = byId("pw-behind");
  if (!node) return;
  const words = currentMode() === "live" && run === known.run ? behindWords(seen, batch, done, slowest, full) : "";
  node.hidden = !words;
  setText(node, words);
  setAttr(node, "title", words);
  setAttr(node, "data-level", words.startsWith("behind") ? "amber" : "quiet");
}

on("delta", (delta) => {
  if (delta.run !== run) [run, seen] = [delta.run, []];
  if (!delta.v) return;
  const n = valueOf(delta.v, "system", "backlog_tuples");
  if (typeof n !== "number" || typeof delta.t !== "number") return;
  seen = [...seen, { t: delta.t, n }].filter(({ t }) => t > delta.t - OVER_S);
  const slowest = slowestOf((currentShell() || {}).works || [], delta.v);
  draw(valueOf(delta.v, "system", "n_tuples") || 0, valueOf(delta.v, "system", "tuples_per_s") || 0, slowest);
});
on("alerts", (states) => {
  const forecast = states.find(({ rule }) => rule.property === "full_in_s");
  full = forecast ? forecast.value : null;
});
on("shell", () => currentMode() !== "live" && draw(0));
