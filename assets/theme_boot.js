/* Runs in <head>, before the first paint: sets the colour scheme so that nothing flashes. The one
   script that is no module, as those wait for the whole page.
   The choice ('light' | 'dark', else follow the system) is kept in the browser. */
(function () {
  "use strict";
  const KEY = "planwatch-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const pw = (window.planwatch = {}); // modules/main.js adds to it

  function stored() {
    try {
      const value = window.localStorage.getItem(KEY);
      return value === "light" || value === "dark" ? value : null;
    } catch {
      return null; // storage forbidden: follow the system
    }
  }

  function apply() {
    const scheme = pw.theme.scheme();
    document.documentElement.setAttribute("data-theme", scheme);
    document.documentElement.style.colorScheme = scheme;
    for (const listener of pw.theme.listeners) listener(scheme);
  }

  pw.theme = {
    listeners: [],
    choice: stored,
    scheme: () => stored() || (system.matches ? "dark" : "light"),
    set(choice) {
      try {
        if (choice) window.localStorage.setItem(KEY, choice);
        else window.localStorage.removeItem(KEY);
      } catch {
        /* the choice then lasts until the page is left */
      }
      apply();
    },
  };
  system.addEventListener("change", apply);
  apply();
})();
