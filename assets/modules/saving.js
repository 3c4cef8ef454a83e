/* Files of what is on screen: the tables of a section as CSV, the plan as SVG. */
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

const fileName = (what, ending) => `${[known.run, what, `batch${shownBatch() ?? ""}`].join("-").replace(/[^\w.-]+/g, "_")}.${ending}`;

function saveTables(section) {
  const tables = [...section.querySelectorAll(".pw-twin-table table")];
  const title = section.querySelector(".pw-panel-title").textContent.toLowerCase();
  save(fileName(title, "csv"), "text/csv", tables.map((table) => csvOf(rowsOf(table))).join("\r\n"));
}

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "opacity"];

/* The drawing with its looks inside, so that it is the same anywhere. */
function savePlan() {
  const drawn = document.querySelector(".pw-graph svg");
  if (!drawn) return;
  const copy = /** @type {SVGElement} */ (drawn.cloneNode(true));
  const originals = [drawn, ...drawn.querySelectorAll("*")];
  for (const [i, node] of [copy, ...copy.querySelectorAll("*")].entries()) {
    const looks = getComputedStyle(originals[i]);
    node.setAttribute("style", LOOKS.map((name) => `${name}:${looks.getPropertyValue(name)}`).join(";"));
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = getComputedStyle(document.documentElement).getPropertyValue("--pw-card").trim();
  save(fileName("plan", "svg"), "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-save]");
  if (!button) return;
  if (button.dataset.pwSave === "svg") savePlan();
  else saveTables(button.closest("[data-twin]"));
});
