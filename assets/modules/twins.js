/* Table twins: shown instead of their figure by their button or the key t. */
import { announce, setAttr } from "./core.js";

function setTwin(section, shown) {
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
  const toggle = event.target.closest(".pw-twin-switch");
  if (toggle) {
    const section = toggle.closest("[data-twin]");
    setTwin(section, section.dataset.twin === "table" ? "figure" : "table");
  }
});
