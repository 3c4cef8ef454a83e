/* The ways past others that some tuples take in a plan: an arc from a card below its row to another. */
import { show } from "./format.js";
import { go } from "./moment.js";
import { h } from "./react.js";

const TIP = 5; // the arrow's head

/** The room arcs take below the cards. */
export const RISE = 50;

/* Region by region they are drawn there. */
const leave = () => go({ path: "/matrix" });

/* From the lower edge of a card to that of another; those that leave the same card, side by side. */
function arc(from, to, place, n) {
  const aside = n > 1 ? (place / (n - 1) - 0.5) * Math.min(36, from.w / 3) : 0;
  const start = { x: from.x + from.w * 0.7 + aside, y: from.y + from.h };
  const end = { x: to.x + to.w * 0.3 + aside, y: to.y + to.h + TIP };
  const deep = Math.max(start.y, end.y) + Math.min(RISE - 6, 26 + 0.06 * Math.abs(end.x - start.x));
  return { path: `M${start.x},${start.y} C${start.x},${deep} ${end.x},${deep} ${end.x},${end.y}`, x: (start.x + end.x) / 2, y: start.y + 0.75 * (deep - start.y) + 13 };
}

/** All arcs of a plan, none without ways past others.
    @param {{skips?: {source: string, target: string, share: number | null, words: string}[]}} plan
    @param {Object<string, any>} places */
export function graphSkips({ skips = [] }, places) {
  const drawn = skips.filter(({ source, target }) => places[source] && places[target]);
  const from = new Map();
  for (const one of drawn) from.set(one.source, [...(from.get(one.source) || []), one]);
  const most = Math.max(0, ...drawn.map(({ share }) => share || 0));
  return drawn.map((one) => {
    const siblings = from.get(one.source);
    const line = arc(places[one.source], places[one.target], siblings.indexOf(one), siblings.length);
    const width = most ? 1.25 + 3.75 * ((one.share || 0) / most) : 1.5;
    return h(
      "g",
      { key: `${one.source}^${one.target}`, className: "pw-leap", role: "link", tabIndex: 0, "aria-label": `${one.words}; open on the Matrix page`, "data-leap": `${one.source}>${one.target}`, onClick: leave, onKeyDown: (event) => event.key === "Enter" && leave() },
      h("title", null, one.words),
      h("path", { d: line.path, className: "pw-leap-catch" }),
      h("path", { d: line.path, style: { strokeWidth: width }, markerEnd: "url(#pw-leap-tip)" }),
      h("text", { x: line.x, y: line.y, textAnchor: "middle" }, one.share === null ? "" : show(one.share, "pct"))
    );
  });
}

/** The arcs' tip, for the drawing's defs. */
export const skipTip = () =>
  h(
    "marker",
    { key: "skip", id: "pw-leap-tip", viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
    h("path", { d: "M0,0 L8,4 L0,8 Z" })
  );
