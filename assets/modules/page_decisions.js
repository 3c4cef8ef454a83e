/* The Decisions page: arrow keys walk the list; the selected row stays in sight. */
import { noUpdate } from "./dash.js";
import { go, moment } from "./moment.js";

const decisionRows = () => [...document.querySelectorAll(".pw-decision-row")];
const LIST_STEPS = { ArrowUp: -1, ArrowDown: 1 };

function stepList(way) {
  const all = decisionRows();
  if (!all.length) return;
  const here = all.findIndex((row) => row.getAttribute("aria-current") === "true");
  const next = all[Math.min(all.length - 1, Math.max(0, here + way))];
  go({ node: next.dataset.pwNode }, true);
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

/* The filter lives in the URL: chosen here, it goes there; moved to another URL, it follows. */
export function decisionsShow(value) {
  const show = value === "all" ? null : value;
  if (moment.path === "/decisions" && show !== moment.show) go({ show }, true);
  return noUpdate();
}

export function decisionsFilter(_moment, value) {
  const show = new URLSearchParams(window.location.search).get("show") || "all"; // ahead of the moment
  return show === value ? noUpdate() : show;
}

/* Fields, menus and charts keep their arrows. */
const taken = (target) =>
  target instanceof Element && Boolean(target.closest("input, textarea, select, [role=toolbar], .pw-table-scroll, dialog[open]"));

document.addEventListener("keydown", (event) => {
  if (!(event.key in LIST_STEPS) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (!document.querySelector(".pw-decision-list") || taken(event.target)) return;
  event.preventDefault();
  stepList(LIST_STEPS[event.key]);
});
