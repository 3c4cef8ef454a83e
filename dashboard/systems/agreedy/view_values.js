/* The matrix view in numbers and words: pure functions, no DOM. Positions count from 0 here and
   from 1 on the page. */
import { show } from "./format.js";

const Z95 = 1.96;
const FORMS = { counts: "int", drop: "f2", rank: "f2" };

/** Where everything goes: cell width and height, gutter of the names, whether cards fit above. */
export function viewGeometry(view, width) {
  const n = view.cards.length;
  const longest = Math.max(4, ...view.cards.map((card) => card.name.length));
  const gutter = Math.min(168, 40 + Math.ceil(longest * 6.9));
  const w = Math.max(7, Math.min(128, (width - gutter - 2) / n));
  const h = n <= 12 ? 40 : Math.max(7, Math.min(30, w));
  const aligned = w >= 76;
  const violated = new Set(view.violated.map(([row, , column]) => `${row},${column}`));
  return { n, gutter, w, h, aligned, band: 30, numbers: w >= 36 && h >= 17, names: h >= 13, violated };
}

/** A name shortened to what fits into so many pixels. */
export function fitText(text, width) {
  const most = Math.max(2, Math.floor(width / 6.8));
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

/** The number in a cell, or null where the algorithm keeps none. */
export const viewCell = (view, row, column) => (column < row ? null : view.cells[row][column - row]);

/** A number as short as a cell wants it. */
export function viewText(value, shown) {
  if (value === null) return "—";
  if (shown === "rank" && value !== 0) return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
  return show(value, FORMS[shown]);
}

/** The 95 % interval of a share (Wilson): [low, high], or null without tuples. */
export function wilson(count, n) {
  if (!n) return null;
  const p = count / n;
  const scale = 1 + (Z95 * Z95) / n;
  const middle = (p + (Z95 * Z95) / (2 * n)) / scale;
  const half = (Z95 / scale) * Math.sqrt((p * (1 - p)) / n + (Z95 * Z95) / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

export const viewIsViolated = (view, row, column) => view.violated.some(([r, , c]) => r === row && c === column);

/* The filters before a row, as few words as will do. */
function before(view, row) {
  const names = view.cards.slice(0, row).map((card) => card.name);
  if (!names.length) return "";
  return names.length <= 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
}

/** What a cell says in full: {title, lines: [[name, value]], note}. */
export function viewTip(view, row, column) {
  const own = view.cards[row];
  const other = view.cards[column];
  const passed = before(view, row);
  const title = other.name + (passed ? ` | passed ${passed}` : "");
  if (column < row) return { title: other.name, lines: [], note: `${other.name} comes before ${own.name}: nothing to compare` };
  const count = view.counts[row][column - row];
  if (count === null) return { title, lines: [], note: "not kept by the algorithm in force" };
  const n = view.reached[row];
  const ends = wilson(count, n);
  const share = n ? count / n : null;
  const lines = [
    ["dropped", `${show(count, "int")} of ${show(n, "int")} profile tuples`],
    ["drop probability", `${show(share, "pct")}${ends ? ` (95 %: ${show(ends[0], "pct")} to ${show(ends[1], "pct")})` : ""}`],
    ["cost", `${viewText(other.cost, "rank")} µs per tuple`],
    ["drops per µs", share === null || !other.cost ? "—" : viewText(share / other.cost, "rank")],
  ];
  return { title, lines, note: standing(view, row, column) + source(view, passed) };
}

function standing(view, row, column) {
  if (row === column) return "On the diagonal: the filter at this position. ";
  const words = viewIsViolated(view, row, column) ? "Violated: outranks " : "Compared with ";
  return `${words}${view.cards[row].name}. `;
}

function source(view, passed) {
  const those = passed ? `those that pass ${passed}` : "all of the window";
  const from = view.batches ? `, sampled in batches ${view.batches[0]} to ${view.batches[1]}` : "";
  return `Profile tuples: ${those}${from}.`;
}

/** One cell as a sentence, for the keyboard. */
export function viewSentence(view, row, column) {
  const tip = viewTip(view, row, column);
  const lines = tip.lines.map(([name, value]) => `${name} ${value}`).join("; ");
  return `Row ${row + 1}, column ${column + 1}: ${tip.title}. ${lines}${lines ? ". " : ""}${tip.note}`;
}
