/* The small core every other file builds on: events, DOM helpers, announcements, toasts. Dash
   loads assets by name, hence the a_. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const listeners = new Map();

  /** Subscribe; returns the function that unsubscribes. */
  pw.on = function (name, listener) {
    if (!listeners.has(name)) listeners.set(name, new Set());
    listeners.get(name).add(listener);
    return () => listeners.get(name).delete(listener);
  };

  pw.emit = function (name, detail) {
    for (const listener of listeners.get(name) || []) listener(detail);
  };

  pw.byId = (id) => document.getElementById(id);

  /** An element with attributes (on* are listeners, null leaves out) and children. */
  pw.el = function (tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  };

  /** Write text only when it changed: unchanged nodes are neither laid out nor announced. */
  pw.text = function (target, text) {
    const node = typeof target === "string" ? pw.byId(target) : target;
    if (node && node.textContent !== text) node.textContent = text;
    return node;
  };

  pw.attr = function (node, name, value) {
    if (node && node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  };

  /** Dash's set_props, silent while its component is not on the page. */
  pw.setProps = function (id, props) {
    const dash = window.dash_clientside;
    if (dash && dash.set_props && pw.ready) dash.set_props(id, props);
  };

  pw.still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** Tell screen readers, politely. */
  pw.announce = function (text) {
    pw.text("pw-announce", text);
  };

  const TOAST_MS = 8000;

  /** A message at the lower right; link = {text, path, at, node}; at most three at a time. */
  pw.toast = function (text, link, tone) {
    const area = pw.byId("pw-toasts");
    if (!area) return;
    const body = [pw.el("span", {}, text)];
    if (link) body.push(" · ", pw.link(link));
    const close = pw.el("button", { type: "button", class: "pw-toast-close", "aria-label": "Close" }, "×");
    const toast = pw.el("div", { class: "pw-toast pw-toast-" + (tone || "info") }, body, close);
    close.addEventListener("click", () => toast.remove());
    area.append(toast);
    while (area.children.length > 3) area.firstChild.remove();
    window.setTimeout(() => toast.remove(), TOAST_MS);
  };

  pw.link = function (link) {
    const data = { class: "pw-link", href: link.path || "#" };
    for (const key of ["path", "at", "node"]) if (link[key] !== undefined) data["data-pw-" + key] = link[key];
    return pw.el("a", data, link.text);
  };
})();
