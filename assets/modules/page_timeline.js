/* The Timeline page: spot values and quiet bands in the live path, clicks, cursor. */
import { after, extendPlot, iso } from "./charts.js";
import { byId, on } from "./core.js";
import { noUpdate } from "./dash.js";
import { go, moment } from "./moment.js";
import { POINT, valueOf } from "./points.js";

const GRAPH = "pw-timeline-graph";

const plot = () => {
  const holder = byId(GRAPH);
  return holder ? holder.querySelector(".js-plotly-plot") : null;
};

/* An event was clicked: go to its batch. */
export function timelineClick(click) {
  const hit = click && click.points.find((point) => Array.isArray(point.customdata));
  if (hit) go({ at: hit.customdata[0] });
  return noUpdate();
}

/* The new points of a trace: a spot value of every new batch, or an edge of a band:
   baseline x (1 + edge x mu). */
function news({ meta }, delta) {
  const column = POINT.indexOf(meta.pts);
  if (column >= 0) return (delta.pts || []).map((one) => ({ x: iso(one[1]), y: one[2 + column] }));
  const [entity, property] = (meta.band || "|").split("|");
  const value = valueOf(delta.v, entity, property);
  if (typeof value !== "number" || typeof meta.mu !== "number") return [];
  return [{ x: iso(delta.t), y: Math.max(0, value * (1 + meta.edge * meta.mu)) }];
}

function extend(delta) {
  const gd = plot();
  if (gd && gd.data && window.Plotly) extendPlot(gd, (trace) => after(trace, news(trace, delta)));
}
on("values", extend);

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
