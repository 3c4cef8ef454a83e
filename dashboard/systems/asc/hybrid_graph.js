/* HybridGraph: constructs as columns in macro order, regions as cells, micro-arrows, the way of one
   tuple; a Dash component. Geometry comes from hybrid_figure.py.

   Props: label, drawing {width, height, heads, cells, arrows, way}. Arrow keys (or the mouse) walk
   the micro-arrows; the line below tells the one that is looked at. */
import { components } from "./dash.js";
import { h, useState } from "./react.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const CHAR_PX = 6.1;

function clipped(text, width) {
  const room = Math.max(3, Math.floor(width / CHAR_PX));
  return text.length <= room ? text : text.slice(0, room - 1) + "…";
}

function head(one) {
  return h(
    "g",
    { key: one.attribute, className: "pw-hybrid-head" },
    h("title", null, `${one.place}. ${one.attribute}`),
    h("rect", { x: one.x, y: one.y, width: one.w, height: one.h, rx: 5 }),
    h("text", { x: one.x + 8, y: one.y + one.h / 2 + 4 }, clipped(`${one.place}. ${one.attribute}`, one.w - 12))
  );
}

function cell(one, index, active, over) {
  const lit = active && one.row !== null && active.source === one.attribute && active.row === one.row;
  const classes = ["pw-hybrid-cell", lit && "pw-hybrid-lit", one.row === null && "pw-hybrid-rest"].filter(Boolean).join(" ");
  return h(
    "g",
    { key: index, className: classes, onMouseEnter: () => over(one), "data-cell": one.row === null ? null : `${one.attribute}:${one.row}` },
    h("title", null, `${one.attribute} ${one.label}: visited by ${one.share} of the sampled tuples`),
    h("rect", { x: one.x, y: one.y, width: one.w, height: one.h, rx: 3, className: "pw-hybrid-ground" }),
    h("rect", { x: one.x, y: one.y, width: one.w, height: one.h, rx: 3, className: "pw-hybrid-heat", fillOpacity: one.opacity }),
    h("text", { x: one.x + 7, y: one.y + one.h / 2 + 3.6 }, clipped(one.label, one.w - 10))
  );
}

/* Looked at, or taken by the followed tuple: on; with anything on, the others step back. */
function arrow(one, index, active, followed, look) {
  const on = active === null ? one.taken : active === one;
  const state = on ? " pw-hybrid-on" : active !== null || followed ? " pw-hybrid-off" : "";
  return h(
    "g",
    { key: index, className: "pw-hybrid-arrow" + state, onMouseEnter: () => look(index), "data-arrow": `${one.source}:${one.row}:${one.target}` },
    h("title", null, one.words),
    h("path", { d: one.d, className: "pw-hybrid-catch" }),
    h("path", { d: one.d, strokeWidth: one.width, markerEnd: "url(#pw-hybrid-tip)" })
  );
}

/* The steps of the followed tuple: outlined cells, numbered, joined; a cross where it died. */
function way(drawn) {
  if (!drawn || !drawn.steps.length) return null;
  const middle = (step) => [step.x + step.w / 2, step.y + step.h / 2];
  const last = drawn.steps[drawn.steps.length - 1];
  const line = drawn.steps.map((step) => middle(step).join(",")).join(" ");
  return h(
    "g",
    { className: "pw-hybrid-way" },
    h("polyline", { points: line }),
    drawn.steps.map((step) => h("rect", { key: step.number, x: step.x - 1, y: step.y - 1, width: step.w + 2, height: step.h + 2, rx: 4 })),
    drawn.steps.map((step) =>
      h(
        "g",
        { key: "n" + step.number, className: "pw-hybrid-step" },
        h("circle", { cx: step.x, cy: step.y, r: 8 }),
        h("text", { x: step.x, y: step.y + 3.6, textAnchor: "middle" }, step.number)
      )
    ),
    h("text", { className: `pw-hybrid-end pw-hybrid-${drawn.end}`, x: last.x + last.w - 9, y: last.y + 14, textAnchor: "middle" }, drawn.end === "dropped" ? "✖" : "✔")
  );
}

function tip() {
  const shape = h("path", { d: "M0,0 L7,3 L0,6 z", className: "pw-hybrid-tip" });
  return h("defs", null, h("marker", { id: "pw-hybrid-tip", markerUnits: "userSpaceOnUse", markerWidth: 8, markerHeight: 7, refX: 4, refY: 3, orient: "auto" }, shape));
}

function HybridGraph({ label, drawing }) {
  const [at, look] = useState(null);
  const { arrows } = drawing;
  const active = at !== null && at < arrows.length ? arrows[at] : null;
  const over = (one) => {
    const found = arrows.findIndex((tied) => one.row !== null && tied.source === one.attribute && tied.row === one.row);
    look(found < 0 ? null : found);
  };
  const onKeyDown = (event) => {
    const step = STEPS[event.key];
    if (event.key === "Escape" && at !== null) look(null);
    else if (step && arrows.length) look(at === null ? (step > 0 ? 0 : arrows.length - 1) : (at + step + arrows.length) % arrows.length);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const idle = arrows.length ? "Point at a region or an arrow, or walk the micro-arrows with the arrow keys." : "No region has a micro-arrow: tuples follow the macro order.";
  return h(
    "div",
    null,
    h(
      "div",
      { className: "pw-hybrid-scroll", tabIndex: 0, role: "group", "aria-label": label, onKeyDown, onMouseLeave: () => look(null) },
      h(
        "svg",
        { viewBox: `0 0 ${drawing.width} ${drawing.height}`, style: { minWidth: drawing.width * 0.82, maxWidth: drawing.width * 1.25 }, "aria-hidden": true },
        tip(),
        drawing.heads.map(head),
        drawing.cells.map((one, index) => cell(one, index, active, over)),
        arrows.map((one, index) => arrow(one, index, active, Boolean(drawing.way), look)),
        way(drawing.way)
      )
    ),
    h("p", { className: "pw-hybrid-words", role: "status" }, active ? active.words : idle)
  );
}

Object.assign(components, { HybridGraph });
