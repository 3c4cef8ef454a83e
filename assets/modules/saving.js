/* Files of what is on screen: the tables of a section as CSV or Parquet, its drawing as SVG or PNG. */
import { apiError, callForFile } from "./api.js";
import { SVG, announce, drawn, el, onEscape } from "./core.js";
import { known, shownBatch } from "./moment.js";
import { tablesOf } from "./twins.js";

const QUOTE = String.fromCharCode(34);
const SPECIAL = [QUOTE, ",", "\r", "\n"];

/** A cell as RFC 4180 wants it.
    @param {string} text */
export const csvCell = (text) => (SPECIAL.some((sign) => text.includes(sign)) ? QUOTE + text.replaceAll(QUOTE, QUOTE + QUOTE) + QUOTE : text);

/** Rows of texts as CSV.
    @param {string[][]} rows */
export const csvOf = (rows) => rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");

const isNumber = ({ sort }) => sort !== undefined && sort.trim() !== "" && !Number.isNaN(Number(sort));

/* A number as the record has it, else the text that is read. */
const textOf = (cell) => (isNumber(cell.dataset) ? cell.dataset.sort : cell.innerText.trim().replace(/\u2009/g, "").replace(/\s+/g, " "));

const UNKNOWN = "—"; // as tables show it

/* A cell as JSON has it: a number, a text (also of what is infinite), null when it is empty or unknown. */
function valueOf(cell) {
  const text = textOf(cell);
  if (isNumber(cell.dataset) && Number.isFinite(Number(text))) return Number(text);
  return text === "" || text === UNKNOWN ? null : text;
}

const captionOf = (table) => (table.caption ? table.caption.innerText.trim() : "");

function rowsOf(table) {
  const lines = [...table.rows].map((row) => [...row.cells].map(textOf));
  return table.caption ? [[captionOf(table)], ...lines] : lines;
}

/* A table as the API takes it: the first line has the headings, and every row a cell for each. */
function askedOf(table) {
  const [head, ...body] = [...table.rows].map((row) => [...row.cells].flatMap((cell) => [cell, ...Array(cell.colSpan - 1)]));
  const width = Math.max(...[head, ...body].map((cells) => cells.length));
  const wide = (make) => Array.from({ length: width }, (_, i) => make(i));
  const columns = wide((i) => (head[i] && textOf(head[i])) || `column ${i + 1}`);
  return { caption: captionOf(table), columns, rows: body.map((cells) => wide((i) => (cells[i] ? valueOf(cells[i]) : null))) };
}

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(address), 10000);
  announce(`Saved as ${name}`);
}

const nameOf = (what, ending) => `${[known.run, what, `batch${shownBatch() ?? ""}`].join("-").replace(/[^\w.-]+/g, "_")}.${ending}`;

const titleOf = (section) => section.querySelector(".pw-panel-title").textContent.toLowerCase();

const saveTables = (section) => (tables) =>
  save(nameOf(titleOf(section), "csv"), "text/csv", tables.map((table) => csvOf(rowsOf(table))).join("\r\n"));

/* One file for each table: a Parquet file has one. */
const saveParquet = (section) => async (tables) => {
  const title = titleOf(section);
  const asked = tables.filter((table) => table.rows.length).map(askedOf);
  for (const [i, table] of asked.entries()) {
    const answer = await callForFile("/parquet", table);
    if (!answer.ok) return announce(apiError(answer));
    save(nameOf(asked.length > 1 ? `${title}-${i + 1}` : title, "parquet"), "application/vnd.apache.parquet", answer.body);
  }
};

const TABLES = { csv: saveTables, parquet: saveParquet };

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "opacity"];

const paper = () => getComputedStyle(document.documentElement).getPropertyValue("--pw-card").trim();

/* A copy of a drawing of ours with its looks inside, so that it is the same anywhere. */
function copyOf(chart) {
  const copy = /** @type {SVGElement} */ (chart.cloneNode(true));
  const originals = [chart, ...chart.querySelectorAll("*")];
  for (const [i, node] of [copy, ...copy.querySelectorAll("*")].entries()) {
    const looks = getComputedStyle(originals[i]);
    node.setAttribute("style", LOOKS.map((name) => `${name}:${looks.getPropertyValue(name)}`).join(";"));
  }
  return copy;
}

function written(copy, width, height) {
  copy.setAttribute("xmlns", SVG);
  copy.style.background = paper();
  return { svg: new XMLSerializer().serializeToString(copy), width, height };
}

function drawingOf(chart) {
  const { width, height } = chart.getBoundingClientRect();
  return written(copyOf(chart), width, height);
}

const LEAST = 60; // pixels: smaller ones are icons
const HEADINGS = ".pw-monitor-graph h3, .pw-history-title, .pw-history-value";

function headingOf(node, left, top) {
  const { color, fontSize, fontWeight, fontFamily } = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  const text = drawn("text", { x: box.left - left, y: box.bottom - top - 0.25 * box.height }, node.innerText);
  Object.assign(text.style, { fill: color, fontSize, fontWeight, fontFamily });
  return text;
}

/* Several charts of a section as one drawing: each where it stands, with its heading. */
function drawingsOf(figure) {
  const seen = (query) => [...figure.querySelectorAll(query)].filter((one) => one.checkVisibility());
  const charts = seen("svg").filter((chart) => chart.getBoundingClientRect().width >= LEAST);
  if (charts.length < 2) return charts.length ? drawingOf(charts[0]) : null;
  const heads = seen(HEADINGS);
  const boxes = [...charts, ...heads].map((part) => part.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
  const [width, height] = [Math.max(...boxes.map((box) => box.right)) - left, Math.max(...boxes.map((box) => box.bottom)) - top];
  const copies = charts.map((chart, i) => {
    const copy = copyOf(chart);
    for (const [name, value] of Object.entries({ x: boxes[i].left - left, y: boxes[i].top - top, width: boxes[i].width, height: boxes[i].height })) copy.setAttribute(name, String(value));
    return copy;
  });
  const headings = heads.map((head) => headingOf(head, left, top));
  return written(drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, copies, headings), width, height);
}

async function figureOf(plot) {
  const { width, height } = plot.getBoundingClientRect();
  const layout = { ...plot.layout, paper_bgcolor: paper() };
  const address = await window.Plotly.toImage({ data: plot.data, layout }, { format: "svg", width, height });
  return { svg: decodeURIComponent(address.slice(address.indexOf(",") + 1)), width, height };
}

const SHARP = 2; // pixels of a PNG for each on screen

async function pngOf({ svg, width, height }) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(SHARP * width);
  canvas.height = Math.ceil(SHARP * height);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

async function saveDrawing(section, kind) {
  const plot = [...section.querySelectorAll(".pw-plot")].find((one) => one.data);
  const plan = section.querySelector(".pw-graph svg");
  const drawing = plot ? await figureOf(plot) : plan ? drawingOf(plan) : drawingsOf(section.querySelector(".pw-twin-figure"));
  if (!drawing) return announce("Nothing is drawn here yet");
  const name = nameOf(titleOf(section), kind);
  return kind === "png" ? save(name, "image/png", await pngOf(drawing)) : save(name, "image/svg+xml", drawing.svg);
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-save]");
  if (!button) return;
  const kind = button.dataset.pwSave;
  const section = button.closest("[data-twin]");
  if (kind in TABLES) tablesOf(section, TABLES[kind](section));
  else saveDrawing(button.closest(".pw-panel"), kind);
});

/* The menu of a panel closes once something of it is chosen, by a click elsewhere and by Escape. */
const opened = () => /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll(".pw-more[open]")]);
document.addEventListener("click", ({ target }) => {
  for (const menu of opened()) if (!(target instanceof Element && menu.querySelector("summary").contains(target))) menu.open = false;
});
onEscape(() => {
  const [menu] = opened();
  if (!menu) return false;
  menu.open = false;
  menu.querySelector("summary").focus();
  return true;
});
