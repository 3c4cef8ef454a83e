/* Files of what is on screen: the tables of a section as CSV, its figure as SVG or PNG. */
import { announce, el } from "./core.js";
import { known, shownBatch } from "./moment.js";
import { pictureOf, pngOf } from "./picture.js";

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

function save(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
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

async function saveFigure(section, ending) {
  const picture = await pictureOf(section.querySelector(".pw-twin-figure"));
  const name = nameOf(titleOf(section), ending);
  if (ending === "svg") save(name, "image/svg+xml", picture.text);
  else save(name, "image/png", await pngOf(picture));
}

const menus = () => /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll(".pw-saves[open]")]);

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  for (const menu of menus()) if (!target || !menu.contains(target) || target.closest("[data-pw-save]")) menu.open = false;
  const button = target && target.closest("[data-pw-save]");
  if (!button) return;
  const section = button.closest("[data-twin]");
  if (button.dataset.pwSave === "csv") saveTables(section);
  else saveFigure(section, button.dataset.pwSave);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menus().length) return;
  for (const menu of menus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
  event.stopImmediatePropagation();
}, true);
