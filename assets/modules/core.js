/* The small core every other module builds on: events, DOM helpers, announcements, toasts. */
import { addressOf } from "./home.js";

const listeners = new Map();

/** Subscribe; returns the function that unsubscribes. */
export function on(name, listener) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name).add(listener);
  return () => listeners.get(name).delete(listener);
}

export function emit(name, detail) {
  for (const listener of listeners.get(name) || []) listener(detail);
}

export const byId = (id) => document.getElementById(id);

/** An element with attributes (on* are listeners, null leaves out) and children. */
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Write text only when it changed: unchanged nodes are neither laid out nor announced. */
export function setText(target, text) {
  const node = typeof target === "string" ? byId(target) : target;
  if (node && node.textContent !== text) node.textContent = text;
  return node;
}

export function setAttr(node, name, value) {
  if (node && node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

export const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Tell screen readers, politely. */
export function announce(text) {
  setText("pw-announce", text);
}

const TOAST_MS = 8000;

/** A message at the lower right; link = {text, path, at, node}, or {text, act} to do something; at most
    three at a time. */
export function toast(text, link, tone) {
  const area = byId("pw-toasts");
  if (!area) return;
  const body = el("span", {}, text, link && " · ", link && linkTo(link));
  const close = el("button", { type: "button", class: "pw-toast-close", "aria-label": "Close" }, "×");
  const box = el("div", { class: "pw-toast pw-toast-" + (tone || "info") }, body, close);
  close.addEventListener("click", () => box.remove());
  area.append(box);
  while (area.children.length > 3) area.firstChild.remove();
  window.setTimeout(() => box.remove(), TOAST_MS);
}

export function linkTo(link) {
  if (link.act) {
    const once = (event) => {
      event.target.closest(".pw-toast").remove();
      link.act();
    };
    return el("button", { type: "button", class: "pw-go", onclick: once }, link.text);
  }
  const data = { class: "pw-link", href: link.path ? addressOf(link.path) : "#" };
  for (const key of ["path", "at", "node", "unit"]) if (link[key] !== undefined) data["data-pw-" + key] = link[key];
  return el("a", data, link.text);
}
