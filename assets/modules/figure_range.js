/* Plotly figures over time: all show the range of the address, and zooming one of them changes it. The
   value axes that any figure names (layout.meta.values) follow the scale of the address: robust (none named),
   full or log. */
import { iso } from "./charts.js";
import { byId, on, setAttr, setText } from "./core.js";
import { currentShell } from "./header.js";
import { go, moment } from "./moment.js";
import { batchOf, robustTop } from "./times.js";
import { viewTimes, wholeTimes } from "./view_range.js";
import { isOverTime, markZoom } from "./zoom.js";

const SETTLE_MS = 120;
let later = null;

const figures = () => /** @type {any[]} */ ([...document.querySelectorAll("[data-live-chart] .js-plotly-plot")]).filter((gd) => gd._fullLayout && gd._fullLayout.xaxis);

const asTime = (text) => Date.parse(/Z$/.test(text) ? text : text.replace(" ", "T") + "Z") / 1000;

/** A gesture in a figure: plotly names both ends then, and the whole range where we set it. */
export function zoomed(change) {
  const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  const times = (currentShell() || {}).times || [];
  if (change["xaxis.autorange"] && moment.span !== null) go({ span: null }, true);
  if (from === undefined || !times.length) return;
  const first = batchOf(times, asTime(from));
  go({ span: `${first}-${Math.max(first + 1, batchOf(times, asTime(to)))}` }, true);
}

/* Numbers of the lines on a value axis within the range. */
function numbersOn(data, axis, span) {
  const name = axis.replace("axis", "");
  const lines = data.filter((trace) => (trace.yaxis || "y") === name && trace.hoverinfo !== "skip");
  const inside = (x) => !span || (asTime(x) >= span[0] && asTime(x) <= span[1]);
  return lines.flatMap((trace) => [...trace.y].filter((_, i) => inside(trace.x[i])));
}

function scaleOf(data, axis, span) {
  if (moment.scale === "log") return { type: "log", autorange: true };
  const { top, cut } = robustTop(numbersOn(data, axis, span));
  if (moment.scale === "full" || !cut) return { type: "linear", autorange: true };
  return { type: "linear", range: [0, top], cut };
}

/** The layout of a figure that is about to be drawn, with the range and the scale of the address.
    @param {any[]} data
    @param {any} layout is changed */
export function fitted(data, layout) {
  if (!layout.xaxis) return layout;
  const isTime = layout.xaxis.type === "date";
  const span = isTime ? viewTimes() : null;
  const whole = isTime && !layout.xaxis.autorangeoptions ? wholeTimes() : null;
  if (span) layout.xaxis.range = span.map(iso);
  if (whole) layout.xaxis.autorangeoptions = { include: whole.map(iso) };
  for (const axis of (layout.meta || {}).values || []) {
    const { type, range } = scaleOf(data, axis, span);
    Object.assign(layout[axis], { type }, range && { range });
  }
  return layout;
}

const same = (a, b) => a.every((end, i) => Math.abs(end - b[i]) <= 1e-3 * Math.abs(b[1] - b[0]));

function rangeOf({ layout, _fullLayout: { xaxis } }, span) {
  const whole = span || layout.xaxis.autorangeoptions ? null : wholeTimes();
  if (whole) return { "xaxis.autorangeoptions.include": whole.map(iso), "xaxis.autorange": true }; // drawn before it was known
  if (span) return same(xaxis.range.map(asTime), span) ? {} : { "xaxis.range": span.map(iso) };
  return xaxis.autorange === true ? {} : { "xaxis.autorange": true };
}

function changesOf(gd, span) {
  const full = gd._fullLayout;
  const wanted = isOverTime(gd) ? rangeOf(gd, span) : {};
  let cut = 0;
  for (const axis of ((gd.layout || {}).meta || {}).values || []) {
    const scale = scaleOf(gd.data, axis, isOverTime(gd) ? span : null);
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
    markZoom(gd);
    const wanted = changesOf(gd, span);
    if (Object.keys(wanted).length) window.Plotly.relayout(gd, wanted);
  }
}

/** Let all figures follow the address, soon. */
export function fitSoon() {
  if (later === null) later = window.setTimeout(fitAll, SETTLE_MS);
}

on("moment", fitSoon);
on("painting", fitSoon);
on("shell", fitSoon);

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-scale]");
  if (button && byId("pw-shell")) go({ scale: button.dataset.pwScale || null }, true);
});
