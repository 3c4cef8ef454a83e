/* ViewMatrix: V as a heat map with the order ribbon above it; a Dash component.

   Prop view: see filters_view.py component_data. Cells are reached with the arrow keys
   once the drawing has the focus; hover or focus explains a cell. */
import { components } from "./dash.js";
import { h, useMemo, useState, useWidth } from "./react.js";
import { viewRibbon } from "./view_ribbon.js";
import { fitText, viewCell, viewGeometry, viewSentence, viewText, viewTip } from "./view_values.js";

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

const hatch = (id) =>
  h(
    "pattern",
    { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    h("rect", { className: "pw-v-hatch", width: 2, height: 6 })
  );

const head = () =>
  h("marker", { id: "pw-v-head", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, h("path", { className: "pw-v-head", d: "M0,0 L8,4 L0,8 Z" }));

function cellOf(view, g, row, column) {
  if (column < row) return null;
  const x = g.gutter + column * g.w;
  const y = g.band + row * g.h;
  const gap = g.w > 14 ? 1 : 0.5;
  const value = viewCell(view, row, column);
  const shade = view.shades[row][column - row];
  const box = { x: x + gap, y: y + gap, width: g.w - 2 * gap, height: g.h - 2 * gap };
  const kind = view.counts[row][column - row] === null ? "off" : "on";
  const violated = g.violated.has(`${row},${column}`);
  const data = { key: column, "data-cell": `${row + 1},${column + 1}`, "data-kind": kind, "data-violated": violated ? "1" : undefined };
  const fill = { className: `pw-v-cell pw-v-${kind}`, ...box, style: kind === "on" ? { fillOpacity: 0.05 + 0.5 * (shade || 0) } : null };
  if (!g.numbers && !violated && row !== column) return h("rect", { ...data, ...fill });
  return h(
    "g",
    data,
    h("rect", fill),
    violated && h("rect", { className: "pw-v-violated", ...box, fill: "url(#pw-v-hatch)" }),
    row === column && h("rect", { className: "pw-v-diagonal", ...box }),
    g.numbers && text(box, viewText(value, view.shown), violated)
  );
}

function text(box, words, violated) {
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 + 4, textAnchor: "middle" };
  return h("text", { className: "pw-v-number" + (violated ? " pw-v-alarm" : ""), ...middle }, (violated ? "▲ " : "") + words);
}

function rowOf(view, g, row) {
  const y = g.band + row * g.h;
  const every = g.names ? 1 : Math.ceil(13 / g.h);
  const label = g.names ? `${row + 1}  ${fitText(view.cards[row].name, g.gutter - 34)}` : String(row + 1);
  const cells = view.cards.map((_, column) => cellOf(view, g, row, column));
  return h(
    "g",
    { key: row, "data-row": view.cards[row].name },
    row % every === 0 && h("text", { className: "pw-v-name", x: g.gutter - 8, y: y + g.h / 2 + 4, textAnchor: "end" }, label),
    cells
  );
}

/* Positions over the columns, where no card stands there. */
function columnsOf(view, g) {
  if (g.aligned) return null;
  const every = Math.max(1, Math.ceil(18 / g.w));
  return view.cards.map((one, place) =>
    place % every === 0 ? h("text", { key: place, className: "pw-v-name", x: g.gutter + (place + 0.5) * g.w, y: g.band - 4, textAnchor: "middle" }, String(place + 1)) : null
  );
}

/* The implied move: from the challenger's column to the place it is to take. */
function moveOf(view, g) {
  if (!view.move) return null;
  const [from, to] = view.move.map((place) => g.gutter + (place + 0.5) * g.w);
  const base = g.band - (g.aligned ? 3 : 15);
  const path = `M${from},${base} C${from},${base - 24} ${to},${base - 24} ${to},${base}`;
  const names = view.move.map((place) => view.cards[place].name);
  const words = `${names[0]} ${view.moved ? "overtakes" : "would overtake"} ${names[1]}`;
  return h(
    "g",
    { className: "pw-v-move" + (view.moved ? "" : " pw-v-held"), "data-move": view.move.map((place) => place + 1).join(",") },
    h("title", null, words),
    h("path", { d: path, markerEnd: "url(#pw-v-head)" })
  );
}

function cursorOf(cursor, g) {
  if (!cursor) return null;
  const [row, column] = cursor;
  return h("rect", { className: "pw-v-cursor", x: g.gutter + column * g.w, y: g.band + row * g.h, width: g.w, height: g.h });
}

/* The cell under a mouse event, from its coordinates: no listener for each cell. */
function under(event, g) {
  const box = event.currentTarget.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - g.gutter) / g.w);
  const row = Math.floor((event.clientY - box.top - g.band) / g.h);
  return row >= 0 && column >= 0 && row < g.n && column < g.n ? [row, column] : null;
}

function tipOf(view, g, [row, column], width) {
  const tip = viewTip(view, row, column);
  const left = Math.max(0, Math.min(g.gutter + (column + 1) * g.w + 8, width - 330));
  const lines = tip.lines.map(([name, value]) => h("tr", { key: name }, h("th", null, name), h("td", null, value)));
  return h(
    "div",
    { className: "pw-tip pw-v-tip", style: { left, top: g.band + (row + 1) * g.h + 8 }, "aria-hidden": true },
    h("b", null, tip.title),
    lines.length > 0 && h("table", null, h("tbody", null, lines)),
    h("small", null, tip.note)
  );
}

function useCursor(n) {
  const [cursor, setCursor] = useState(null);
  const onKeyDown = (event) => {
    const move = MOVES[event.key];
    if (event.key === "Escape" && cursor) setCursor(null);
    else if (!move || event.shiftKey || event.ctrlKey || event.altKey) return;
    else setCursor(([row, column]) => move.map((step, i) => Math.max(0, Math.min(n - 1, [row, column][i] + step))));
    event.preventDefault();
    event.stopPropagation();
  };
  const handlers = {
    onKeyDown,
    onFocus: () => setCursor((last) => last || [0, 0]),
    onBlur: () => setCursor(null),
  };
  return [cursor && cursor.every((place) => place < n) ? cursor : null, handlers];
}

function drawing(view, g, setOver) {
  const size = { width: g.gutter + g.n * g.w + 2, height: g.band + g.n * g.h + 2 };
  const bands = view.cards.map((_, row) => rowOf(view, g, row));
  const mouse = { onMouseMove: (event) => setOver(under(event, g)), onMouseLeave: () => setOver(null) };
  const label = `Matrix view of ${g.n} filters: ${view.cards.map((one) => one.name).join(", ")}; ${view.violated.length} violated pairs`;
  return [size, h("svg", { ...size, role: "img", "aria-label": label, ...mouse }, h("defs", null, hatch("pw-v-hatch"), head()), columnsOf(view, g), bands, moveOf(view, g))];
}

/* Drawn again only when the numbers or the width change, not with every move of the mouse. */
function useDrawing(view, width, setOver) {
  return useMemo(() => {
    if (!view || !width) return null;
    const g = viewGeometry(view, width);
    return { g, drawn: drawing(view, g, setOver), ribbon: viewRibbon(view, g) };
  }, [view, width]);
}

function ViewMatrix({ id, view }) {
  const [ref, width] = useWidth();
  const [over, setOver] = useState(null);
  const [cursor, handlers] = useCursor(view ? view.cards.length : 0);
  const scene = useDrawing(view, width, setOver);
  if (!view || !view.cards.length) return h("div", { id, ref, className: "pw-v" }, h("p", { className: "pw-v-none" }, "No check yet: the first profile tuples bring one."));
  const at = cursor || (over && over.every((place) => place < view.cards.length) ? over : null);
  const data = { "data-batch": view.batch, "data-shown": view.shown, "data-n": view.cards.length };
  return h(
    "div",
    { id, ref, className: "pw-v", ...data },
    scene && scene.ribbon,
    scene &&
      h(
        "div",
        { className: "pw-v-scroll", tabIndex: 0, role: "application", "aria-label": "Cells of the matrix view; arrow keys move", ...handlers },
        h("div", { className: "pw-v-plane", style: scene.drawn[0] }, scene.drawn[1], h("svg", { className: "pw-v-over", ...scene.drawn[0], "aria-hidden": true }, cursorOf(at, scene.g))),
        h("p", { className: "pw-sr", "aria-live": "polite" }, cursor ? viewSentence(view, ...cursor) : "")
      ),
    scene && at && h("div", { className: "pw-v-tipbox", style: { top: scene.g.aligned ? 98 : 112 } }, tipOf(view, scene.g, at, width))
  );
}

Object.assign(components, { ViewMatrix });
