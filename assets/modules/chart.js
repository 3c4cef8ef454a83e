/* Chart: a figure of plotly as one component, drawn with the range and the scale of the address.

   Figures in sight are drawn at once, those below when the browser has time, hidden ones when they are
   seen. A figure that only grows, or is zoomed, is not told to Dash. */
import { growLater } from "./charts.js";
import { on } from "./core.js";
import { fitSoon, fitted, zoomed } from "./figure_range.js";
import { h, useEffect, useRef } from "./react.js";
import { markClick } from "./page_timeline.js";
import { beginsAs, isOverTime } from "./zoom.js";

const ADDRESS = new URL("../vendor/plotly.min.js", import.meta.url).href;
const LATER_MS = 1000;
let loading = null;

/* The part of plotly that the figures are made of. */
function library() {
  loading = loading || new Promise((onload) => document.head.append(Object.assign(document.createElement("script"), { src: ADDRESS, onload })));
  return loading;
}

const whenIdle = (act) => (window.requestIdleCallback ? window.requestIdleCallback(act, { timeout: LATER_MS }) : window.setTimeout(act));

/* It takes a while to run: where the first page has figures, it does while that page is asked for. */
on("layout", () => loading || !document.head.querySelector('link[rel="preload"][as="script"]') || whenIdle(library));

/* Dragging zooms, a double click shows all again; what else there is to do stands in the panel's head. */
const configOf = (layout) => ({ displayModeBar: false, scrollZoom: false, doubleClick: (layout.xaxis || {}).type === "date" ? "autosize" : "reset" });

/* Narrower than this is a phone, px. */
const NARROW_PX = 480;

/* What a figure has instead where it is narrow, as it says itself (layout.meta.narrow). */
function shaped(gd, layout) {
  const { narrow } = layout.meta || {};
  if (!narrow || gd.closest(".pw-panel-body").clientWidth >= NARROW_PX) return layout;
  const merged = (name, value) => (typeof value !== "object" || Array.isArray(value) ? value : { ...layout[name], ...value });
  const instead = Object.entries(narrow).map(([name, value]) => [name, merged(name, value)]);
  return { ...layout, ...Object.fromEntries(instead) };
}

function paint(gd, { data, layout: given }) {
  const layout = shaped(gd, given);
  const since = performance.now();
  const first = !gd.data;
  beginsAs(gd, layout);
  window.Plotly.react(gd, data.map((trace) => ({ ...trace })), fitted(data, structuredClone(layout)), configOf(layout));
  gd.classList.remove("pw-plot-waiting");
  growLater(gd, performance.now() - since);
  if (!first) return;
  gd.on("plotly_relayout", (change) => isOverTime(gd) && zoomed(change));
  gd.on("plotly_afterplot", fitSoon);
  gd.on("plotly_click", (click) => markClick(gd, click));
  fitSoon();
}

const inSight = (element) => element.getBoundingClientRect().top < window.innerHeight;

const soon = (gd, draw) => (inSight(gd) ? draw() : whenIdle(draw));

/** @param {{id: string, figure: {data: any[], layout: any} | null, height: number}} props height: px */
export function Chart({ id, figure, height }) {
  const holder = useRef(null);
  const wanted = useRef(null); // the figure that is not drawn yet
  const draw = async () => {
    const gd = holder.current;
    if (!gd || !gd.clientWidth) return;
    await library();
    if (!wanted.current || !gd.isConnected) return;
    const next = wanted.current;
    wanted.current = null;
    paint(gd, next);
  };
  useEffect(() => {
    wanted.current = figure;
    if (figure) soon(holder.current, draw);
    else if (holder.current.data) window.Plotly.purge(holder.current); // nor saved, nor read aloud
  }, [figure]);
  useEffect(() => {
    const gd = holder.current;
    const resized = () => {
      if (wanted.current) draw();
      else if (gd._fullLayout && gd.clientWidth && gd.clientWidth !== gd._fullLayout.width) window.Plotly.Plots.resize(gd);
    };
    const observer = new ResizeObserver(resized);
    observer.observe(gd);
    return () => {
      observer.disconnect();
      if (gd.data) window.Plotly.purge(gd);
    };
  }, []);
  return h("div", { id, style: { height: `${height}px` } }, h("div", { ref: holder, className: "pw-plot pw-plot-waiting" }));
}
