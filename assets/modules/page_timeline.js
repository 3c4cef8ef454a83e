/* The Timeline page: clicks and the cursor. */
import { byId, on } from "./core.js";
import { go, moment } from "./moment.js";

const GRAPH = "pw-timeline-graph";

const plot = () => {
  const holder = byId(GRAPH);
  return holder ? holder.querySelector(".js-plotly-plot") : null;
};

const NEAR_PX = 12;
const DOUBLE_MS = 320;
let pointer = { x: 0, y: 0, time: -Infinity, double: false };
let leaving = null; // the click that waits for a second one

document.addEventListener("pointerdown", (event) => {
  const double = event.timeStamp - pointer.time < DOUBLE_MS;
  pointer = { x: event.clientX, y: event.clientY, time: event.timeStamp, double };
  window.clearTimeout(leaving);
});

/* Where a point of a figure is on the screen. */
function spotOf(gd, point) {
  const frame = gd.getBoundingClientRect();
  const full = gd._fullLayout;
  const y = full[(gd.data[point.curveNumber].yaxis || "y").replace("y", "yaxis")];
  return { x: frame.left + full.xaxis._offset + full.xaxis.d2p(point.x), y: frame.top + y._offset + y.d2p(point.y) };
}

function isUnderPointer(gd, point) {
  if (!Array.isArray(point.customdata)) return false;
  const spot = spotOf(gd, point);
  return Math.hypot(spot.x - pointer.x, spot.y - pointer.y) <= NEAR_PX;
}

/** A mark of an event was clicked: go to its batch. A click beside one, or the first of a double click,
    which resets the zoom, leaves the moment alone: hovering finds a point of every line at any place.
    A figure says where its marks have their batch (layout.meta.batch: place in customdata), and whether a
    click beside them counts (anywhere), as where bars stand side by side. */
export function markClick(gd, { points }) {
  const { batch, anywhere } = gd.layout.meta || {};
  if (batch === undefined) return;
  const hit = points.find((point) => anywhere || isUnderPointer(gd, point));
  window.clearTimeout(leaving);
  if (hit && !pointer.double) leaving = window.setTimeout(() => go({ at: hit.customdata[batch] }), DOUBLE_MS);
}

/* Time of a batch, from the figure itself. */
function timeOf(gd, batch) {
  const clock = (gd.layout && gd.layout.meta) || { batches: [], times: [] };
  let found = null;
  for (let i = 0; i < clock.batches.length && clock.batches[i] <= batch; i += 1) found = clock.times[i];
  return found;
}

function moveCursor() {
  const gd = plot();
  if (!gd || !gd.layout || !window.Plotly) return;
  const x = moment.at === null ? null : timeOf(gd, moment.at);
  const shapes = gd.layout.shapes || [];
  const shown = shapes.find((shape) => shape.name === "cursor");
  if ((shown ? shown.x0 : null) === x) return;
  const line = { color: getComputedStyle(document.documentElement).getPropertyValue("--pw-text").trim(), width: 1.2 };
  const cursor = { type: "line", name: "cursor", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line, layer: "below" };
  window.Plotly.relayout(gd, { shapes: [...(x === null ? [] : [cursor]), ...shapes.filter((shape) => shape !== shown)] });
}
on("moment", moveCursor);
