/* Files of what is on screen: the tables of a section as CSV, its drawing as SVG or PNG. */
import { announce, el } from "./core.js";
import { known, shownBatch } from "./moment.js";

const QUOTE = String.fromCharCode(34);
const SPECIAL = [QUOTE, ",", "\r", "\n"];

/** A cell as RFC 4180 wants it.
    @param {string} text */
export const csvCell = (text) => (SPECIAL.some((sign) => text.includes(sign)) ? QUOTE + text.replaceAll(QUOTE, QUOTE + QUOTE) + QUOTE : text);

/** Rows of texts as CSV.
    @param {string[][]} rows */
export const csvOf = (rows) => rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");

/* A number as the record has it, else the text that is read. */
function textOf(cell) {
  const { sort } = cell.dataset;
  return sort !== undefined && sort !== "" && !Number.isNaN(Number(sort)) ? sort : cell.innerText.trim().replace(/\u2009/g, "").replace(/\s+/g, " ");
}

function rowsOf(table) {
  const lines = [...table.rows].map((row) => [...row.cells].map(textOf));
  return table.caption ? [[table.caption.innerText.trim()], ...lines] : lines;
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

function saveTables(section) {
  const tables = [...section.querySelectorAll(".pw-twin-table table")];
  save(nameOf(titleOf(section), "csv"), "text/csv", tables.map((table) => csvOf(rowsOf(table))).join("\r\n"));
}

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "opacity"];

const paper = () => getComputedStyle(document.documentElement).getPropertyValue("--pw-card").trim();

/* A drawing of ours with its looks inside, so that it is the same anywhere. */
function drawingOf(drawn) {
  const copy = /** @type {SVGElement} */ (drawn.cloneNode(true));
  const originals = [drawn, ...drawn.querySelectorAll("*")];
  for (const [i, node] of [copy, ...copy.querySelectorAll("*")].entries()) {
    const looks = getComputedStyle(originals[i]);
    node.setAttribute("style", LOOKS.map((name) => `${name}:${looks.getPropertyValue(name)}`).join(";"));
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = paper();
  const { width, height } = drawn.getBoundingClientRect();
  return { svg: new XMLSerializer().serializeToString(copy), width, height };
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
  const plot = section.querySelector(".js-plotly-plot");
  const drawn = section.querySelector(".pw-graph svg");
  if (!plot && !drawn) return announce("Nothing is drawn here yet");
  const drawing = plot ? await figureOf(plot) : drawingOf(drawn);
  const name = nameOf(titleOf(section), kind);
  return kind === "png" ? save(name, "image/png", await pngOf(drawing)) : save(name, "image/svg+xml", drawing.svg);
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-save]");
  if (!button) return;
  const kind = button.dataset.pwSave;
  if (kind === "csv") saveTables(button.closest("[data-twin]"));
  else saveDrawing(button.closest(".pw-panel"), kind);
});
