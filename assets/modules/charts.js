/* Plotly charts in the live path: traces with meta.live = 'entity|property' grow by the batches told, and
   edges of a band, meta.band = 'entity|property', by the value x (1 + edge x mu). */
import { currentMode } from "./moment.js";
import { valueOf } from "./points.js";

/** Unix seconds as dates stand in figures. @param {number} time */
export const iso = (time) => new Date(time * 1000).toISOString();

/* A figure that grows takes at most this share of the time to be drawn. */
const SHARE = 1 / 8;
/** @typedef {{b: number, t: number, v: Object<string, any>}} Point a batch that was told */
/** What a figure is to grow by, and from when on it may be drawn again.
    @type {WeakMap<any, {batches: Point[], from: number, timer: number | null}>} */
const growing = new WeakMap();

/* Let a figure grow, soon: quick figures at once, slow ones by several batches together. */
function extendPlot(plot, batches) {
  const state = growing.get(plot) || { batches, from: 0, timer: null };
  growing.set(plot, state);
  state.batches = batches;
  if (state.timer !== null) return;
  const wait = state.from - performance.now();
  if (wait <= 0) grow(plot, state);
  else state.timer = window.setTimeout(grow, wait, plot, state);
}

/** A figure was just drawn anew: it grows when that pays.
    @param {number} took ms */
export function growLater(plot, took) {
  const state = growing.get(plot);
  const from = performance.now() + took * (1 / SHARE - 1);
  if (state) state.from = from;
  else growing.set(plot, { batches: [], from, timer: null });
}

function grow(plot, state) {
  state.timer = null;
  if (!plot.isConnected || !plot.data || currentMode() !== "live") return;
  const since = performance.now();
  extendBy(plot, state.batches);
  growLater(plot, performance.now() - since);
}

function extendBy(plot, batches) {
  const grown = { x: [], y: [] };
  const indices = [];
  plot.data.forEach((trace, index) => {
    const fresh = trace.meta ? pointsAfter(trace, batches) : [];
    if (!fresh.length) return;
    grown.x.push(fresh.map((next) => next.x));
    grown.y.push(fresh.map((next) => next.y));
    indices.push(index);
  });
  const limit = Number(plot.closest("[data-live-chart]").dataset.liveChart);
  if (indices.length) window.Plotly.extendTraces(plot, grown, indices, limit);
}

/** The points that come after the last one of a trace.
    @param {any} trace
    @param {Point[]} batches oldest first
    @returns {{x: any, y: any}[]} */
export function pointsAfter({ meta, x }, batches) {
  if (!meta.live && !meta.band) return [];
  const [entity, property] = (meta.live || meta.band).split("|");
  const last = x && x.length ? x[x.length - 1] : null;
  const found = [];
  for (let i = batches.length - 1; i >= 0; i -= 1) {
    const { b, t, v } = batches[i];
    const place = meta.band || meta.x === "time" ? iso(t) : b;
    if (last !== null && !(place > last)) break;
    const value = valueOf(v, entity, property);
    const y = meta.band ? edgeAt(meta, value) : value;
    if (y !== undefined) found.push({ x: place, y });
  }
  return found.reverse();
}

const edgeAt = ({ edge, mu }, value) =>
  typeof value === "number" && typeof mu === "number" ? Math.max(0, value * (1 + edge * mu)) : undefined;

/** Extend every live chart on the page by batches {b, t, v}, oldest first.
    @param {Point[]} batches those told of late: a figure may have been drawn from what was so before */
export function extendCharts(batches) {
  if (!window.Plotly) return;
  for (const plot of /** @type {NodeListOf<any>} */ (document.querySelectorAll("[data-live-chart] .js-plotly-plot"))) {
    if (plot.data) extendPlot(plot, batches);
  }
}
