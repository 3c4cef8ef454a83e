/* Tables: sorting by a click on a heading; table twins by their button or the key t. */
import { announce, setAttr } from "./core.js";
import { sorted } from "./sorting.js";

function key(row, column) {
  const cell = row.cells[column];
  if (!cell) return "";
  const given = cell.dataset.sort === undefined ? cell.textContent.trim() : cell.dataset.sort;
  const number = Number(given);
  return given !== "" && !Number.isNaN(number) ? number : given;
}

function sort(heading) {
  const table = heading.closest("table");
  const up = heading.getAttribute("aria-sort") !== "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  orders.set(table, { column: heading.cellIndex, up });
  order(table, heading.cellIndex, up);
  watch(table);
}

const orders = new WeakMap(); // table -> {column, up}
const SETTLE_MS = 60;

/* Dash refills rows in their own order: sort again once it has finished. */
function watch(table) {
  if (table.dataset.watched) return;
  table.dataset.watched = "1";
  let timer = null;
  const observer = new MutationObserver(() => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => {
      const { column, up } = orders.get(table);
      order(table, column, up);
      observer.takeRecords();
    }, SETTLE_MS);
  });
  observer.observe(table.tBodies[0], { childList: true, characterData: true, subtree: true });
}

/* Rows are moved, not rebuilt: Dash's own elements stay where React knows them. */
function order(table, column, up) {
  const body = table.tBodies[0];
  body.append(...sorted([...body.rows], (row) => key(row, column), up));
}

export function setTwin(section, shown) {
  section.dataset.twin = shown;
  setAttr(section.querySelector(".pw-twin-switch"), "aria-pressed", shown === "table");
}

/** Toggle the twin that has the focus or, without one, all of the page together. */
export function toggleTwins() {
  const focused = document.activeElement && document.activeElement.closest("[data-twin]");
  const sections = focused ? [focused] : [...document.querySelectorAll("[data-twin]")];
  if (!sections.length) return;
  const shown = sections[0].dataset.twin === "table" ? "figure" : "table";
  for (const section of sections) setTwin(section, shown);
  announce(shown === "table" ? "Tables" : "Figures");
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const heading = event.target.closest("th[aria-sort] .pw-sort");
  if (heading) sort(heading.closest("th"));
  const toggle = event.target.closest(".pw-twin-switch");
  if (toggle) {
    const section = toggle.closest("[data-twin]");
    setTwin(section, section.dataset.twin === "table" ? "figure" : "table");
  }
});
