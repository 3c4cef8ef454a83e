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

export const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (on* are listeners, null leaves out) and children. */
export const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

/** One of a drawing. */
export const drawn = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

function filled(node, attributes, children) {
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

/** Open a dialog at its begin: its first button may be far below. */
export function openDialog(dialog) {
  dialog.showModal();
  dialog.querySelector("h2").focus({ preventScroll: true });
  dialog.scrollTop = 0;
}

/** Escape puts something away, before it means anything else. close: says whether it did. */
export function onEscape(close) {
  document.addEventListener("keydown", (event) => event.key === "Escape" && close() && event.stopPropagation(), true);
}

const GAP_PX = 6;

/** Put a box below what it speaks of, or above where there is no room. */
export function placeBy(box, { left, top, bottom }) {
  const below = bottom + GAP_PX + box.offsetHeight < window.innerHeight;
  box.style.top = `${below ? bottom + GAP_PX : top - GAP_PX - box.offsetHeight}px`;
  box.style.left = `${Math.max(GAP_PX, Math.min(left, window.innerWidth - box.offsetWidth - GAP_PX))}px`;
}

const TOAST_MS = 8000;

/** A message at the lower right; link = {text, path, at, node}, or {text, act} to do something; at most
    three at a time, one of them of a switch: the newest. */
export function toast(text, link, tone) {
  const area = byId("pw-toasts");
  if (!area) return;
  const body = el("span", {}, text, link && " · ", link && linkTo(link));
  const close = el("button", { type: "button", class: "pw-toast-close", "aria-label": "Close" }, "×");
  const box = el("div", { class: "pw-toast pw-toast-" + (tone || "info") }, body, close);
  close.addEventListener("click", () => box.remove());
  if (tone === "switch") area.querySelector(".pw-toast-switch")?.remove();
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
