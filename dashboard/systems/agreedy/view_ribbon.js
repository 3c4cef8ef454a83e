/* The order ribbon: a card for each filter in its place; cards glide when the order changes. */
import { show } from "./format.js";
import { h } from "./react.js";
import { viewText } from "./view_values.js";

const CARD = 104; // px, where cards do not stand over the columns
const HEIGHT = 86;

const value = (number, form) => (form === "rank" ? viewText(number, "rank") : show(number, form));

function card(one, place, pitch, left) {
  const style = { transform: `translateX(${left + place * pitch}px)`, width: pitch - 6 };
  const label =
    `${place + 1}. ${one.name}: drops ${show(one.drop, "pct")} of what reaches it, ` +
    `${value(one.cost, "rank")} µs, ${value(one.rank, "rank")} drops per µs`;
  return h(
    "li",
    { key: one.name, className: "pw-ribbon-card" + (one.native ? " pw-ribbon-native" : ""), style, "data-filter": one.name, "data-place": place + 1, "aria-label": label },
    h("span", { className: "pw-ribbon-name pw-term", tabIndex: 0, "data-raw": one.name, "data-meaning": one.text === one.name ? "" : one.text }, h("b", null, place + 1), " ", one.name),
    h("span", null, show(one.drop, "pct")),
    h("span", null, value(one.cost, "rank")),
    h("span", { className: "pw-ribbon-rank" }, value(one.rank, "rank"))
  );
}

const words = (width) =>
  h(
    "div",
    { className: "pw-ribbon-words", style: { width }, "aria-hidden": true },
    h("span", null, "order"),
    h("span", null, "drops"),
    h("span", null, "cost, µs"),
    h("span", null, "drops per µs")
  );

/* Where native filters end: they compare attributes with constants. */
function split(view, pitch, left) {
  const n = view.cards.filter((one) => one.native).length;
  if (!n || n === view.cards.length) return null;
  return h("i", { className: "pw-ribbon-split", style: { left: left + n * pitch - 4 }, title: "left of it: comparisons; right of it: functions" });
}

/** The ribbon. geometry: as the matrix below it, so that cards stand over their columns. */
export function viewRibbon(view, geometry) {
  const { aligned, gutter, w, n } = geometry;
  const pitch = aligned ? w : CARD;
  const left = aligned ? gutter : 0;
  const named = view.cards.map((one, place) => [one, place]).sort((a, b) => (a[0].name < b[0].name ? -1 : 1));
  const cards = named.map(([one, place]) => card(one, place, pitch, left));
  const list = h("ol", { className: "pw-ribbon-cards", style: { height: HEIGHT, width: left + n * pitch }, "aria-label": "Filters in the order that ran" }, cards);
  const wide = aligned ? {} : { tabIndex: 0, role: "region", "aria-label": "Order of the filters" };
  return h(
    "div",
    { className: "pw-ribbon" + (aligned ? "" : " pw-ribbon-strip"), "data-order": view.cards.map((one) => one.name).join(" ") },
    aligned ? words(gutter) : words(92),
    h("div", { className: "pw-ribbon-scroll", ...wide }, list, split(view, pitch, left))
  );
}
