/* The Decisions page: arrow keys walk the list; the selected row stays in sight. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const rows = () => [...document.querySelectorAll(".pw-decision-row")];
  const STEPS = { ArrowUp: -1, ArrowDown: 1 };

  function step(way) {
    const all = rows();
    if (!all.length) return;
    const here = all.findIndex((row) => row.getAttribute("aria-current") === "true");
    const next = all[Math.min(all.length - 1, Math.max(0, here + way))];
    pw.go({ node: next.dataset.pwNode }, true);
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  /* Fields, menus and charts keep their arrows. */
  const taken = (target) =>
    target instanceof Element && Boolean(target.closest("input, textarea, select, [role=toolbar], .pw-table-scroll, dialog[open]"));

  document.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (!document.querySelector(".pw-decision-list") || taken(event.target)) return;
    event.preventDefault();
    step(STEPS[event.key]);
  });
})();
