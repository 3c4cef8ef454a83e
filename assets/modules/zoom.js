/* "Reset zoom" in the head of a panel while what it draws is zoomed: charts over time by the range of the
   address, which all of them share, and figures over anything else by themselves. */
import { announce, byId, on, setAttr } from "./core.js";
import { go, moment } from "./moment.js";

/** Whether a figure is drawn over time, and so shows the range of the address. */
export const isOverTime = (gd) => gd._fullLayout.xaxis.type === "date";

/** Axes as the server wanted them, of each figure.
    @type {WeakMap<any, any>} */
const begun = new WeakMap();

/** A figure is drawn from a layout. */
export const beginsAs = (gd, layout) => begun.set(gd, layout);

/* The axes of a figure that a gesture has changed: what brings them back. */
function turned(gd) {
  const found = {};
  for (const [name, axis] of Object.entries(gd._fullLayout)) {
    if (!/^[xy]axis\d*$/.test(name) || axis.fixedrange) continue;
    const { range } = (begun.get(gd) || {})[name] || {};
    if (range && range.some((end, i) => end !== axis.range[i])) found[`${name}.range`] = range;
    if (!range && axis.autorange !== true) found[`${name}.autorange`] = true;
  }
  return found;
}

/** Tell the panel of a figure whether it is zoomed. */
export function markZoom(gd) {
  const zoomed = isOverTime(gd) ? moment.span !== null : Object.keys(turned(gd)).length > 0;
  setAttr(gd.closest(".pw-panel"), "data-zoomed", zoomed ? "1" : "0");
}

function reset(panel) {
  const plots = /** @type {any[]} */ ([...panel.querySelectorAll(".js-plotly-plot")]).filter((gd) => gd._fullLayout && gd._fullLayout.xaxis);
  const own = plots.filter((gd) => !isOverTime(gd));
  for (const gd of own) window.Plotly.relayout(gd, turned(gd));
  if (own.length < plots.length || panel.querySelector(".pw-history")) go({ span: null }, true);
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest(".pw-unzoom");
  if (!button) return;
  if (document.activeElement === button) button.parentElement.querySelector("button:not(.pw-unzoom), a")?.focus();
  reset(button.closest(".pw-panel"));
  announce("Zoom reset");
});

const tell = () => setAttr(byId("pw-shell"), "data-span", moment.span === null ? "0" : "1");
on("moment", tell);
on("shell", tell);
