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

  /* The filter lives in the URL: chosen here, it goes there; moved to another URL, it follows. */
  function decisionsShow(value) {
    const show = value === "all" ? null : value;
    if (pw.moment.path === "/decisions" && show !== pw.moment.show) pw.go({ show }, true);
    return window.dash_clientside.no_update;
  }

  function decisionsFilter(moment, value) {
    const show = new URLSearchParams(window.location.search).get("show") || "all"; // ahead of the moment
    return show === value ? window.dash_clientside.no_update : show;
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.planwatch = Object.assign(window.dash_clientside.planwatch || {}, { decisionsShow, decisionsFilter });

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
