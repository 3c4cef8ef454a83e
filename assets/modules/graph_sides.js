/* What leads to a part of a plan, and where it leads. Pure. */
import { endsBy } from "./graph_fold.js";

/** Nodes that lead to one and nodes it leads to, without itself; of a queue, to and from its ends.
    @param {{edges: {source: string, target: string, queue?: string}[]}} plan
    @param {string} id of a node or a queue
    @returns {{up: Set<string>, down: Set<string>}} */
export function traced({ edges }, id) {
  const own = edges.filter((edge) => edge.queue === id);
  const [from, to] = own.length ? [own.map((edge) => edge.source), own.map((edge) => edge.target)] : [[id], [id]];
  const up = reached(edges, from, "target", "source");
  const down = reached(edges, to, "source", "target");
  if (own.length) {
    from.forEach((node) => up.add(node));
    to.forEach((node) => down.add(node));
  }
  return { up, down };
}

function reached(edges, starts, near, far) {
  const found = new Set();
  const [next, open] = [endsBy(edges, near, far), [...starts]];
  while (open.length) {
    for (const one of next.get(open.pop()) || []) {
      if (found.has(one)) continue;
      found.add(one);
      open.push(one);
    }
  }
  return found;
}
