/* How far the run shown is behind its input, in the header while it is true: tuples that wait, how much
   work that is, whether they grow or when they will be worked off, and what takes most of the work. */
import { byId, on, setAttr, setText } from "./core.js";
import { age, show } from "./format.js";
import { currentShell } from "./header.js";
import { currentMode, known } from "./moment.js";
import { valueOf } from "./points.js";

const OVER_S = 30; // what a rate is taken over
const LEAST_S = 3;
const BATCHES = 3; // so many batches may wait: more is a backlog
const STEADY = 0.02; // of the backlog in a second is no change

let seen = []; // {t, n}, oldest first
let run = null;

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

/** The part with the largest share of the work, with that share; '' where none is told. works: [[entity,
    name, property], ...], see dashboard/views/shell.py; values: of a delta. */
export function slowestOf(works, values) {
  const shares = works.map(([entity, name, property]) => [name, valueOf(values, entity, property)]);
  const known = shares.filter(([, share]) => typeof share === "number" && share > 0);
  const [name, share] = known.reduce((most, one) => (most[1] >= one[1] ? most : one), ["", 0]);
  return name ? `${name} ${show(share, "pct")}` : "";
}

/** What is told of a backlog; '' where few tuples wait. batch: tuples that a batch takes; done: tuples a
    second; slowest: what takes most of the work, or ''. */
export function behindWords(points, batch, done = 0, slowest = "") {
  const last = points[points.length - 1];
  if (!last || last.n <= 0 || last.n < BATCHES * batch) return "";
  const work = done > 0 ? ` (${age(last.n / done)} of work)` : "";
  const waits = `${show(last.n, "si")} tuples wait${work}`;
  const most = slowest ? `, slowest ${slowest}` : "";
  const rate = growth(points);
  if (rate === null || Math.abs(rate) < STEADY * last.n) return `behind: ${waits}${most}`;
  if (rate > 0) return `behind: +${show(rate, "si")}/s, ${waits}${most}`;
  return `catching up: ${waits}, worked off in ${age(last.n / -rate)}`;
}

function draw(batch, done = 0, slowest = "") {
  const node = byId("pw-behind");
  if (!node) return;
  const words = currentMode() === "live" && run === known.run ? behindWords(seen, batch, done, slowest) : "";
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
on("shell", () => currentMode() !== "live" && draw(0));
