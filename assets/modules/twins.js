/* Table twins by their button or the key t; which sections show their table is in the address. The
   server draws a table when it is looked at, and only then. */
import { announce, on, setAttr } from "./core.js";
import { go, moment } from "./moment.js";
import { isPainting } from "./painted.js";
import { settled } from "./settled.js";

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

/** The tables of a section; one that shows its figure shows them until they are there.
    @param {HTMLElement} section */
export async function tablesOf(section, use) {
  const shown = section.dataset.twin;
  if (shown !== "table") turn([section], "table");
  await settled();
  use([...section.querySelectorAll(".pw-twin-table table")]);
  if (shown !== "table") turn([section], shown);
}

function recall() {
  const tabled = (moment.tables || "").split(",");
  for (const section of twins()) setTwin(section, tabled.includes(section.id) ? "table" : "figure");
}
on("moment", recall);
on("painting", recall);

/* Figures that are wider than a phone scroll there, and do so by keyboard, too. */
function reachable() {
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".pw-twin-figure"))) {
    if (figure.scrollWidth > figure.clientWidth) figure.tabIndex = 0;
    else figure.removeAttribute("tabindex");
  }
}
on("painting", () => isPainting() || reachable());
window.addEventListener("resize", reachable);

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
  const toggle = event.target.closest(".pw-twin-switch");
  if (toggle) {
    const section = toggle.closest("[data-twin]");
    turn([section], section.dataset.twin === "table" ? "figure" : "table");
  }
});
