/* Whether an operator keeps up, as its queues were in the batch: pure functions, no DOM.

   A queue with a limit that was nearly full holds up what fills it: who reads it is busy, who fills it is
   blocked by that one. What has no limit blocks nobody. */
import { NEARLY_FULL, queueFill } from "./graph_values.js";
import { sizesOf } from "./points.js";

/** @typedef {{word: "ok" | "busy" | "blocked", by: string, fill: number}} Verdict by: names of what blocks;
    fill: of its fullest queue */

/** Node -> its verdict, of those between queues that have a limit.
    @param {{nodes: any[], edges: any[]}} plan
    @param {any} facts
    @returns {Map<string, Verdict>} */
export function verdictsOf({ nodes, edges }, facts) {
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  const found = new Map();
  const limited = edges.filter(({ queue }) => queue && facts.limits[queue]);
  const own = (id) => found.get(id) || found.set(id, { word: "ok", by: [], fill: 0 }).get(id);
  for (const { source, target, queue } of limited) {
    const told = sizesOf(facts.values[queue]);
    if (told.size === undefined && told.queue_peak_tuples === undefined) continue;
    const { fill } = queueFill(told, facts, queue);
    const [from, to] = [own(source), own(target)];
    to.fill = Math.max(to.fill, fill);
    if (fill >= NEARLY_FULL) from.by.push(names.get(target));
  }
  const word = ({ by, fill }) => (by.length ? "blocked" : fill >= NEARLY_FULL ? "busy" : "ok");
  return new Map([...found].map(([id, one]) => [id, { word: word(one), by: one.by.join(", "), fill: one.fill }]));
}

/** A verdict in words, '' where nothing is known.
    @param {Verdict | undefined} verdict */
export const verdictWords = (verdict) => (verdict ? { ok: "keeps up", busy: "busy: its queue is full", blocked: `blocked by ${verdict.by}` }[verdict.word] : "");
