/* What one can do with a graph as a whole: fold and open its parts, and read what a part hangs on.

   Keys on a card: - folds what leads to it alone, + opens it. */
import { byId } from "./core.js";
import { coneOf, folded, guarded, MOST_NODES, placesOf, showing } from "./graph_fold.js";
import { pathOf } from "./graph_layout.js";
import { traced } from "./graph_sides.js";
import { h, useEffect, useMemo, useState } from "./react.js";

/** The plan as it is to be drawn, and what folds and opens it. selected: a node that is folded is
    opened, so that a search leads to it.
    @param {any} plan described
    @param {string} selected */
export function useFolds(plan, selected) {
  const start = useMemo(() => guarded(plan, pathOf(plan)), [plan.hash]);
  const [kept, setKept] = useState({ hash: null, folds: start });
  const folds = kept.hash === plan.hash ? kept.folds : start;
  const shown = useMemo(() => (selected ? showing(folds, selected) : folds), [folds, selected]);
  const set = (next) => setKept({ hash: plan.hash, folds: next });
  useEffect(() => {
    if (shown !== folds) set(shown);
  }, [shown]);
  const drawn = useMemo(() => folded(plan, shown), [plan, shown]);
  return {
    plan: drawn,
    whole: plan,
    folds: shown,
    fold: (id) => set(new Map([...shown, [id, coneOf(plan, id)]])),
    open: (id) => set(new Map([...shown].filter(([head]) => head !== id))),
    openAll: () => set(new Map()),
  };
}

/* What could be folded into a node: nothing where it is folded already. */
const foldable = ({ whole, folds }, id) => (!id || folds.has(id) || placesOf(folds).has(id) ? 0 : coneOf(whole, id).size);

/** - and + on a card that has the focus.
    @param {any} tools of useFolds */
export const foldingKeys = (tools) => (event) => {
  const card = event.target instanceof Element && event.target.closest("[data-id]");
  if (!card || !["+", "-"].includes(event.key)) return;
  const { id } = card.dataset;
  if (event.key === "-" && foldable(tools, id)) tools.fold(id);
  else if (event.key === "+" && tools.folds.has(id)) tools.open(id);
  else return;
  event.preventDefault();
  window.requestAnimationFrame(() => focusCard(id));
};

function focusCard(id) {
  const card = [...byId("plan-graph").querySelectorAll("[data-id]")].find((one) => one.dataset.id === id);
  if (card) card.focus();
}

const button = (key, words, act) => h("button", { key, type: "button", className: "pw-button", onClick: act }, words);

/** The row above the graph: what the part looked at hangs on, and the buttons that fold and open.
    @param {any} tools of useFolds
    @param {string} id of the part looked at, '' = none */
export function graphTools(tools, id) {
  const { whole, folds } = tools;
  const node = whole.nodes.find((one) => one.id === id);
  const n = foldable(tools, id);
  const hidden = placesOf(folds).size;
  const told = node && !pathOf(whole); // in a chain all before leads to it, and all behind it is led to
  const parts = [
    told && h("span", { key: "words", className: "pw-trace-words" }, traceWords(whole, node)),
    hidden > 0 && h("span", { key: "hidden" }, hiddenWords(whole, hidden)),
    told && n > 1 && button("fold", `Fold ${n} parts into ${node.name}`, () => tools.fold(id)),
    folds.has(id) && button("open", `Open ${node.name}`, () => tools.open(id)),
    hidden > 0 && button("all", "Open all", tools.openAll),
  ].filter(Boolean);
  return parts.length > 0 && h("div", { key: "tools", className: "pw-graph-tools", role: "status" }, parts);
}

/** @param {any} plan
    @param {{id: string, name: string}} node */
export function traceWords(plan, node) {
  const { up, down } = traced(plan, node.id);
  const before = up.size ? `${up.size} ${up.size === 1 ? "part leads" : "parts lead"} to it` : "nothing leads to it";
  const after = down.size ? `it leads to ${down.size}` : "it leads nowhere";
  return `${node.name}: ${before}, ${after}`;
}

const mostOf = (plan) => MOST_NODES[pathOf(plan) ? "lane" : "map"];

const hiddenWords = (plan, hidden) =>
  `${plan.nodes.length - hidden} of ${plan.nodes.length} parts shown${plan.nodes.length > mostOf(plan) ? `: more than ${mostOf(plan)} are folded at first` : ""}`;

/** How many parts a card holds, drawn at its corner, over all cards; a click opens it.
    @param {any} plan folded
    @param {(id: string) => any} place
    @param {(id: string) => void} open */
export const foldMarks = (plan, place, open) =>
  plan.nodes
    .filter((node) => node.holds && place(node.id))
    .map((node) => {
      const { x, y, w } = place(node.id);
      return h(
        "g",
        { key: `fold ${node.id}`, className: "pw-fold", transform: `translate(${x + w - 20},${y - 9})`, onClick: () => open(node.id), "data-holds": node.holds },
        h("title", null, `Holds ${node.holds} more parts; open it (+)`),
        h("rect", { width: 38, height: 18, rx: 9 }),
        h("text", { x: 19, y: 13, textAnchor: "middle" }, `+${node.holds}`)
      );
    });
