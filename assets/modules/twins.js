/* Table twins by their button or the key t; which sections show their table is in the address. */
import { announce, on, setAttr } from "./core.js";
import { go, moment, refresh } from "./moment.js";

const twins = () => [...document.querySelectorAll("[data-twin]")];

function setTwin(section, shown) {
  setAttr(section, "data-twin", shown);
  setAttr(section.querySelector(".pw-twin-switch"), "aria-pressed", shown === "table");
}

function turn(sections, shown) {
  for (const section of sections) setTwin(section, shown);
  const tabled = twins().filter((section) => section.dataset.twin === "table");
  go({ tables: tabled.map((section) => section.id).join(",") || null }, true);
  refresh("numbers"); // hidden tables are not kept up to date
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
  const toggle = event.target.closest(".pw-twin-switch");
  if (toggle) {
    const section = toggle.closest("[data-twin]");
    turn([section], section.dataset.twin === "table" ? "figure" : "table");
  }
});
