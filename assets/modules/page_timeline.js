/* The Timeline page: spot values and quiet bands in the live path, clicks, cursor. */
import { after, extendPlot, iso } from "./charts.js";
import { byId, on } from "./core.js";
import { noUpdate } from "./dash.js";
import { go, moment } from "./moment.js";
import { POINT, valueOf } from "./points.js";

const GRAPH = "pw-timeline-graph";

const timelinePlot = () => {
  const holder = byId(GRAPH);
  return holder ? holder.querySelector(".js-plotly-plot") : null;
};

const NEAR_PX = 12;
const DOUBLE_MS = 320;
let pressed = { x: 0, y: 0, time: -Infinity, double: false };
let leaving = null; // the click that waits for a second one

document.addEventListener("pointerdown", (event) => {
  const double = event.timeStamp - pressed.time < DOUBLE_MS;
  pressed = { x: event.clientX, y: event.clientY, time: event.timeStamp, double };
  window.clearTimeout(leaving);
});

/* Where a point of a figure is on the screen. */
function spotOf(point) {
  const gd = [...document.querySelectorAll("[data-live-chart] .js-plotly-plot")].find((one) => one.matches(":hover"));
  if (!gd) return null;
  const frame = gd.getBoundingClientRect();
  const full = gd._fullLayout;
  const y = full[(gd.data[point.curveNumber].yaxis || "y").replace("y", "yaxis")];
  return { x: frame.left + full.xaxis._offset + full.xaxis.d2p(point.x), y: frame.top + y._offset + y.d2p(point.y) };
}

function isUnderPointer(point) {
  const spot = Array.isArray(point.customdata) && spotOf(point);
  return spot && Math.hypot(spot.x - pressed.x, spot.y - pressed.y) <= NEAR_PX;
}

/** A mark of an event was clicked: go to its batch. A click beside one, or the first of a double click,
    which resets the zoom, leaves the moment alone: hovering finds a point of every line at any place. */
export function timelineClick(click) {
  const hit = click && click.points.find(isUnderPointer);
  window.clearTimeout(leaving);
  if (hit && !pressed.double) leaving = window.setTimeout(() => go({ at: hit.customdata[0] }), DOUBLE_MS);
  return noUpdate();
}

/* The new points of a trace: a spot value of every new batch, or an edge of a band:
   baseline x (1 + edge x mu). */
function newPoints({ meta }, delta) {
  const column = POINT.indexOf(meta.pts);
  if (column >= 0) return (delta.pts || []).map((one) => ({ x: iso(one[1]), y: one[2 + column] }));
  const [entity, property] = (meta.band || "|").split("|");
  const value = valueOf(delta.v, entity, property);
  if (typeof value !== "number" || typeof meta.mu !== "number") return [];
  return [{ x: iso(delta.t), y: Math.max(0, value * (1 + meta.edge * meta.mu)) }];
}

function extend(delta) {
  const gd = timelinePlot();
  if (gd && gd.data && window.Plotly) extendPlot(gd, (trace) => after(trace, newPoints(trace, delta)));
}
on("values", extend);

/* Time of a batch, from the figure itself. */
function eventTime(gd, batch) {
  const clock = (gd.layout && gd.layout.meta) || { batches: [], times: [] };
  let found = null;
  for (let i = 0; i < clock.batches.length && clock.batches[i] <= batch; i += 1) found = clock.times[i];
  return found;
}

function moveCursor() {
  const gd = timelinePlot();
  if (!gd || !gd.layout || !window.Plotly) return;
  const x = moment.at === null ? null : eventTime(gd, moment.at);
  const shapes = gd.layout.shapes || [];
  const shown = shapes.find((shape) => shape.name === "cursor");
  if ((shown ? shown.x0 : null) === x) return;
  const line = { color: getComputedStyle(document.documentElement).getPropertyValue("--pw-text").trim(), width: 1.2 };
  const cursor = { type: "line", name: "cursor", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line, layer: "below" };
  window.Plotly.relayout(gd, { shapes: [...(x === null ? [] : [cursor]), ...shapes.filter((shape) => shape !== shown)] });
}
on("moment", moveCursor);
