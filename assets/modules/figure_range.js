/* Plotly figures over time: all show the range of the address, and zooming one of them changes it. The
   value axes a figure names (layout.meta.values) follow the scale of the address: robust (none named),
   full or log. */
import { iso } from "./charts.js";
import { byId, on, setAttr, setText } from "./core.js";
import { currentShell } from "./header.js";
import { go, moment } from "./moment.js";
import { batchOf, robustTop } from "./times.js";
import { viewTimes } from "./view_range.js";

const SETTLE_MS = 120;
const known = new WeakSet();
let later = null;

const figures = () =>
  /** @type {any[]} */ ([...document.querySelectorAll("[data-live-chart] .js-plotly-plot")]).filter((gd) => gd._fullLayout && gd._fullLayout.xaxis && gd._fullLayout.xaxis.type === "date");

const asTime = (text) => Date.parse(/Z$/.test(text) ? text : text.replace(" ", "T") + "Z") / 1000;

/* A gesture in a figure: plotly names both ends then, and the whole range where we set it. */
function zoomed(change) {
  const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  const times = (currentShell() || {}).times || [];
  if (change["xaxis.autorange"] && moment.span !== null) go({ span: null }, true);
  if (from === undefined || !times.length) return;
  const first = batchOf(times, asTime(from));
  go({ span: `${first}-${Math.max(first + 1, batchOf(times, asTime(to)))}` }, true);
}

function follow(gd) {
  if (known.has(gd)) return;
  known.add(gd);
  gd.on("plotly_relayout", zoomed);
  gd.on("plotly_react", fit);
  gd.on("plotly_afterplot", fit);
}

/* Numbers of the lines on a value axis within the range. */
function numbersOn(gd, axis, span) {
  const name = axis.replace("axis", "");
  const lines = gd.data.filter((trace) => (trace.yaxis || "y") === name && trace.hoverinfo !== "skip");
  const inside = (x) => !span || (asTime(x) >= span[0] && asTime(x) <= span[1]);
  return lines.flatMap((trace) => [...trace.y].filter((_, i) => inside(trace.x[i])));
}

function scaleOf(gd, axis, span) {
  if (moment.scale === "log") return { type: "log", autorange: true };
  const { top, cut } = robustTop(numbersOn(gd, axis, span));
  if (moment.scale === "full" || !cut) return { type: "linear", autorange: true };
  return { type: "linear", range: [0, top], cut };
}

const same = (a, b) => a.every((end, i) => Math.abs(end - b[i]) <= 1e-3 * Math.abs(b[1] - b[0]));

function changesOf(gd, span) {
  const full = gd._fullLayout;
  const wanted = {};
  const ends = full.xaxis.range.map(asTime);
  if (span && !same(ends, span)) wanted["xaxis.range"] = span.map(iso);
  if (!span && full.xaxis.autorange !== true) wanted["xaxis.autorange"] = true;
  let cut = 0;
  for (const axis of ((gd.layout || {}).meta || {}).values || []) {
    const scale = scaleOf(gd, axis, span);
    cut += scale.cut || 0;
    if (full[axis].type !== scale.type) wanted[`${axis}.type`] = scale.type;
    if (scale.autorange && full[axis].autorange !== true) wanted[`${axis}.autorange`] = true;
    if (scale.range && !same(full[axis].range, scale.range)) wanted[`${axis}.range`] = scale.range;
  }
  if (gd.layout.meta && gd.layout.meta.values) tell(cut);
  return wanted;
}

function tell(cut) {
  setText("pw-scale-note", cut ? `${cut} ${cut === 1 ? "point lies" : "points lie"} above the scale` : "");
  for (const button of document.querySelectorAll("[data-pw-scale]")) setAttr(button, "aria-pressed", (moment.scale || "") === button.dataset.pwScale);
}

function fitAll() {
  later = null;
  const span = viewTimes();
  for (const gd of figures()) {
    follow(gd);
    const wanted = changesOf(gd, span);
    if (Object.keys(wanted).length) window.Plotly.relayout(gd, wanted);
  }
}

function fit() {
  if (later === null) later = window.setTimeout(fitAll, SETTLE_MS);
}

on("moment", fit);
on("painting", fit);

/* A figure appears when its library has come. */
new MutationObserver((changes) => {
  const isPlot = (node) => node instanceof Element && (node.matches(".plot-container") || node.querySelector(".plot-container"));
  if (changes.some((change) => [...change.addedNodes].some(isPlot))) fit();
}).observe(document.documentElement, { childList: true, subtree: true });

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-scale]");
  if (button && byId("pw-shell")) go({ scale: button.dataset.pwScale || null }, true);
});
