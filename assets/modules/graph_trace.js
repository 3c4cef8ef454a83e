/* What leads to a part of the plan and where it leads: lit while the part is looked at. */
import { on } from "./core.js";
import { traced } from "./graph_sides.js";
import { useEffect, useState } from "./react.js";

/** Mark every card and edge of the graph by where it stands to the one looked at: data-trace is up,
    here, down or off; nothing while none is.
    @param {{current: Element | null}} ref
    @param {any} plan
    @param {string} id '' = none */
export function useTrace(ref, plan, id) {
  useEffect(() => mark(ref.current, plan, id));
}

/** Mark the cards that a search finds (data-hit), and the graph that there are any.
    @param {{current: Element | null}} ref */
export function useHits(ref) {
  const [hits, setHits] = useState([]);
  useEffect(() => on("hits", setHits), []);
  useEffect(() => {
    const root = ref.current;
    if (!hits.length && !root.dataset.hits) return;
    const cards = [...root.querySelectorAll("[data-id]")];
    const found = cards.filter((card) => hits.includes(card.dataset.id));
    for (const card of cards) card.toggleAttribute("data-hit", found.includes(card));
    root.dataset.hits = found.length ? String(found.length) : "";
  });
}

function mark(root, plan, id) {
  const there = plan.nodes.some((node) => node.id === id) || plan.edges.some((edge) => edge.queue && edge.queue === id);
  if (!there && !root.dataset.traced) return;
  root.dataset.traced = there ? id : "";
  const sides = there ? beside(plan, id) : null;
  const place = (node) => (node === id ? "here" : sides.up.has(node) ? "up" : sides.down.has(node) ? "down" : "off");
  for (const card of root.querySelectorAll("[data-id]")) tell(card, sides && place(card.dataset.id));
  const marks = new Map(plan.edges.map((edge) => [`${edge.source}>${edge.target}`, edge]));
  for (const line of root.querySelectorAll("[data-edge]")) {
    const edge = marks.get(line.dataset.edge);
    tell(line, sides && edge && edgePlace(edge, id, place));
  }
}

/* Null where all of the plan hangs together with the one, as in a chain: nothing is to be told apart. */
function beside(plan, id) {
  const sides = traced(plan, id);
  const lone = plan.nodes.some((node) => node.id !== id && !sides.up.has(node.id) && !sides.down.has(node.id));
  return lone ? sides : null;
}

/* An edge is on the way when both its ends are, and on the same side. */
function edgePlace({ source, target, queue }, id, place) {
  if (queue && queue === id) return "here";
  const [from, to] = [place(source), place(target)];
  if (from === "up" && (to === "up" || to === "here")) return "up";
  if (to === "down" && (from === "down" || from === "here")) return "down";
  return "off";
}

function tell(element, word) {
  if (word) element.setAttribute("data-trace", word);
  else element.removeAttribute("data-trace");
}
