/* The range of time on screen: a choice of the last minutes, and a brush over the whole run on the strip.
   Both write the span of the address, and every chart follows it. */
import { el, on, setAttr } from "./core.js";
import { go, moment } from "./moment.js";
import { SPANS } from "./times.js";
import { viewRange, wholeRange } from "./view_range.js";

const LEAST_PX = 4; // a shorter gesture is a slip of the hand
let bar = null;
let shownPart = null;
let choice = null;

/** The choice of a range, for the strip's controls. */
export function spanChoice() {
  const options = Object.entries(SPANS).map(([name, [words]]) => el("option", { value: name }, words));
  const drawn = el("option", { value: "drawn", hidden: "" }, "drawn");
  choice = el("select", { class: "pw-input pw-span", id: "pw-span", "aria-label": "Time range", title: "Time range of all charts" }, el("option", { value: "" }, "run"), options, drawn);
  choice.addEventListener("change", () => go({ span: choice.value || null }, true));
  drawChoice();
  return choice;
}

/** The brush, for the strip's track: drag over it to choose, double-click for the whole run. */
export function brush() {
  shownPart = el("i", {});
  bar = el("div", { class: "pw-brush", title: "Drag to choose a range, double-click for the whole run", "aria-hidden": "true" }, shownPart);
  bar.addEventListener("pointerdown", drag);
  bar.addEventListener("dblclick", () => go({ span: null }, true));
  return bar;
}

function drag(begin) {
  const box = bar.getBoundingClientRect();
  const { first, last } = wholeRange();
  const place = (event) => Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  const from = place(begin);
  let to = from;
  bar.setPointerCapture(begin.pointerId);
  const move = (event) => {
    to = place(event);
    placePart(Math.min(from, to), Math.max(from, to));
  };
  const end = () => {
    bar.removeEventListener("pointermove", move);
    if (Math.abs(to - from) * box.width < LEAST_PX) return drawBrush();
    const at = (part) => Math.round(first + part * (last - first));
    const [low, high] = [at(Math.min(from, to)), at(Math.max(from, to))];
    return go({ span: `${low}-${Math.max(low + 1, high)}` }, true);
  };
  bar.addEventListener("pointermove", move);
  bar.addEventListener("lostpointercapture", end, { once: true }); // let go, or taken away
}

function placePart(left, right) {
  shownPart.style.left = `${(100 * left).toFixed(2)}%`;
  shownPart.style.width = `${(100 * (right - left)).toFixed(2)}%`;
}

/** Draw which part of the run is on screen. */
export function drawBrush() {
  if (!bar) return;
  const { first, last } = wholeRange();
  const view = viewRange();
  const part = (batch) => (last > first ? (batch - first) / (last - first) : 0);
  placePart(part(view.first), last > first ? part(view.last) : 1);
  setAttr(bar, "data-whole", moment.span === null ? "1" : "0");
}

function drawChoice() {
  if (choice) choice.value = moment.span === null ? "" : moment.span in SPANS ? moment.span : "drawn";
}
on("moment", drawChoice);
