/* What a node of a map shows: a chip its name and number, a mark of state its sign, a dot its colour. */
import { numberedLine, numberedLines } from "./fitting.js";
import { chipName, hasCards, isState } from "./graph_layers.js";
import { h } from "./react.js";

const ASIDE = 7; // from the edge of a chip to its words
const TWO_LINES = 30; // how high a chip of two lines is at least
const ICON = 24; // px of an icon's box

/** The words of a chip: its name, on two lines where it is high enough, and the number.
    @param {{name: string, sign: string, role: string}} node
    @param {{big: string}} texts
    @param {{w: number, h: number}} place
    @returns {string[]} a line each */
export function chipWords(node, texts, { w, h: high }) {
  const number = texts.big && texts.big !== "—" ? texts.big : "";
  const [name, width] = [chipName(node), w - 2 * ASIDE];
  return high < TWO_LINES ? [numberedLine(name, number, width)] : numberedLines(name, node.name, number, width);
}

/** What is in a chip.
    @param {any} node
    @param {{place: {w: number, h: number}}} options
    @param {{big: string}} texts */
export function inChip(node, { place }, texts) {
  if (isState(node.role)) return [mark(node, place.w, place.h)];
  const lines = chipWords(node, texts, place);
  const first = place.h / 2 + 4 - 6.5 * (lines.length - 1);
  return [h("text", { key: "name", className: "pw-chip-name" }, lines.map((line, row) => h("tspan", { key: row, x: ASIDE, y: first + 13 * row }, line)))];
}

/** What is in a dot: nothing, but the name of a source or an output that has room for it.
    @param {any} node
    @param {{place: {w: number, h: number}}} options
    @param {{big: string}} texts */
export const inDot = (node, options, texts) => (options.place.w > options.place.h ? inChip(node, options, texts) : []);

/* A sign in a box as large as a letter. */
function mark({ icon, sign }, w, high) {
  if (!icon) return h("text", { key: "sign", className: "pw-chip-name", x: w / 2, y: high / 2 + 4, textAnchor: "middle" }, sign);
  const scale = (w - 4) / ICON;
  return h("path", { key: "icon", className: "pw-card-icon", d: icon, transform: `translate(2,${(high - ICON * scale) / 2}) scale(${scale})` });
}

/** How round a node is: a dot all of it.
    @param {string} level
    @param {{h: number}} place
    @param {string} role */
export const roundOf = (level, place, role) => (hasCards(level) ? 8 : isState(role) ? 2 : level === "dot" ? place.h / 2 : 6);

/** The queue in front of a chip or dot: as large as it must be to be hit, filled as it was filled.
    @param {{level: string, fill: number}} told */
export function queueDot({ level, fill }) {
  const r = level === "chip" ? 4.5 : 3;
  return [
    h("circle", { key: "box", className: "pw-queue-box", r }),
    fill > 0 && h("circle", { key: "fill", className: "pw-queue-fill", r: Math.max(1, (r - 1) * Math.sqrt(fill)) }),
  ];
}
