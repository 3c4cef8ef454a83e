/* Plotly charts in the live path: traces with meta.live = 'entity|property' grow by a point. */
import { currentMode, known } from "./moment.js";
import { valueOf } from "./points.js";

/** Unix seconds as dates stand in figures. @param {number} time */
export const iso = (time) => new Date(time * 1000).toISOString();

/* A figure that grows takes at most this share of the time to be drawn. */
const SHARE = 1 / 8;
/** What a figure is to grow by, and from when on it may be drawn again.
    @type {WeakMap<any, {news: ((trace: any) => {x: any, y: number}[])[], from: number, timer: number | null, run: string | null}>} */
const growing = new WeakMap();

/** Let traces of a figure grow, soon: quick figures at once, slow ones by several batches together.
    @param {any} plot the figure's element
    @param {(trace: any) => {x: any, y: number}[]} news the points a trace does not have yet */
export function extendPlot(plot, news) {
  const state = growing.get(plot) || { news: [], from: 0, timer: null, run: known.run };
  growing.set(plot, state);
  if (state.run !== known.run) Object.assign(state, { news: [], run: known.run });
  state.news.push(news);
  if (state.timer !== null) return;
  const wait = state.from - performance.now();
  if (wait <= 0) grow(plot, state);
  else state.timer = window.setTimeout(grow, wait, plot, state);
}

function grow(plot, state) {
  const news = state.news;
  Object.assign(state, { news: [], timer: null });
  if (!plot.isConnected || !plot.data || currentMode() !== "live" || state.run !== known.run) return;
  const since = performance.now();
  extendBy(plot, (trace) => news.flatMap((of) => of(trace)));
  const now = performance.now();
  state.from = now + (now - since) * (1 / SHARE - 1);
}

function extendBy(plot, news) {
  const grown = { x: [], y: [] };
  const indices = [];
  plot.data.forEach((trace, index) => {
    const fresh = trace.meta ? news(trace) : [];
    if (!fresh.length) return;
    grown.x.push(fresh.map((next) => next.x));
    grown.y.push(fresh.map((next) => next.y));
    indices.push(index);
  });
  const limit = Number(plot.closest("[data-live-chart]").dataset.liveChart);
  if (indices.length) window.Plotly.extendTraces(plot, grown, indices, limit);
}

/** Those of the points that come after the last one of a trace.
    @template {{x: any}} P
    @param {any} trace
    @param {P[]} points
    @returns {P[]} */
export function after(trace, points) {
  const last = trace.x && trace.x.length ? trace.x[trace.x.length - 1] : null;
  return last === null ? points : points.filter((next) => next.x > last);
}

/** @returns {{x: any, y: any}[]} */
function liveNews(trace, batches) {
  if (!trace.meta.live) return [];
  const [entity, property] = trace.meta.live.split("|");
  const points = batches.map(({ b, t, v }) => ({ x: trace.meta.x === "time" ? iso(t) : b, y: valueOf(v, entity, property) }));
  const found = points.filter(({ x, y }) => y !== undefined && x !== undefined && x !== null);
  return after(trace, found);
}

/** Extend every live chart on the page by batches {b, t, v}, oldest first.
    @param {{b: number, t: number, v: Object<string, any>}[]} batches */
export function extendCharts(batches) {
  if (!window.Plotly) return;
  for (const plot of /** @type {NodeListOf<any>} */ (document.querySelectorAll("[data-live-chart] .js-plotly-plot"))) {
    if (plot.data) extendPlot(plot, (trace) => liveNews(trace, batches));
  }
}
