/* A figure that was zoomed by hand says so: the panel's tools offer the way back. */
import { go, moment } from "./moment.js";

const known = new WeakSet();

const buttonOf = (gd) => {
  const section = gd.closest(".pw-panel");
  return section && section.querySelector("[data-pw-reset]");
};

function offer(gd, isZoomed) {
  const button = buttonOf(gd);
  if (button) button.hidden = !isZoomed;
}

/* Plotly names both ends of an axis after a gesture. */
const isGesture = (change) => Object.keys(change).some((key) => key.endsWith(".range[0]"));

function follow(gd) {
  known.add(gd);
  gd.on("plotly_relayout", (change) => isGesture(change) && offer(gd, true));
  gd.on("plotly_doubleclick", () => offer(gd, false));
}

/* The axes as they were drawn at first. */
function reset(gd) {
  const wanted = {};
  for (const [name, axis] of Object.entries(gd._fullLayout)) {
    if (!/^[xy]axis\d*$/.test(name)) continue;
    if (axis._rangeInitial0 === undefined || axis._autorangeInitial) wanted[`${name}.autorange`] = true;
    else wanted[`${name}.range`] = [axis._rangeInitial0, axis._rangeInitial1];
  }
  offer(gd, false);
  window.Plotly.relayout(gd, wanted);
  if (gd._fullLayout.xaxis.type === "date" && moment.span !== null) go({ span: null }, true);
}

document.addEventListener(
  "pointerdown",
  (event) => {
    const gd = event.target instanceof Element && /** @type {any} */ (event.target.closest(".js-plotly-plot"));
    if (gd && gd.on && !known.has(gd)) follow(gd);
  },
  true
);

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-reset]");
  if (!button) return;
  for (const gd of button.closest(".pw-panel").querySelectorAll(".js-plotly-plot")) reset(gd);
});
