/* Tables: sorting by a click on a heading; table twins by their button or the key t. Which sections
   show their table is in the address. */
import { announce, on, setAttr } from "./core.js";
import { go, moment } from "./moment.js";
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

const twins = () => [...document.querySelectorAll("[data-twin]")];

function setTwin(section, shown) {
  setAttr(section, "data-twin", shown);
  setAttr(section.querySelector(".pw-twin-switch"), "aria-pressed", shown === "table");
}

function turn(sections, shown) {
  for (const section of sections) setTwin(section, shown);
  const tabled = twins().filter((section) => section.dataset.twin === "table");
  go({ tables: tabled.map((section) => section.id).join(",") || null }, true);
}

function recall() {
  const tabled = (moment.tables || "").split(",");
  for (const section of twins()) setTwin(section, tabled.includes(section.id) ? "table" : "figure");
}
on("moment", recall);
on("painting", recall);

/** Toggle the twin that has the focus or, without one, all of the page together. */
export function toggleTwins() {
  const focused = document.activeElement && document.activeElement.closest("[data-twin]");
  const sections = focused ? [focused] : twins();
  if (!sections.length) return;
  const shown = sections[0].dataset.twin === "table" ? "figure" : "table";
  turn(sections, shown);
  announce(shown === "table" ? "Tables" : "Figures");
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const heading = event.target.closest("th[aria-sort] .pw-sort");
  if (heading) sort(heading.closest("th"));
  const toggle = event.target.closest(".pw-twin-switch");
  if (toggle) {
    const section = toggle.closest("[data-twin]");
    turn([section], section.dataset.twin === "table" ? "figure" : "table");
  }
});
