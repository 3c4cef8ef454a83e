/* Parts of a large plan folded into one card: pure functions from a plan to a smaller one. No DOM.

   What can be folded into a node is what leads nowhere else, so a folded plan is a plan again; into
   the end of a long chain, what follows. */

/** A chain with more nodes than the first is shown folded until it is opened, a map with more than the
    second. */
export const MOST_NODES = { lane: 80, map: 500 };

/** @typedef {{source: string, target: string, queue?: string}} Edge */
/** @typedef {{id: string, role: string}} Node */
/** @typedef {{nodes: Node[], edges: Edge[], hash: string}} Plan */
/** @typedef {Map<string, Set<string>>} Folds node -> what is folded into it, without itself */

/** All that leads to a node and nowhere else.
    @param {Plan} plan
    @param {string} head
    @returns {Set<string>} */
export function coneOf({ edges }, head) {
  const after = endsBy(edges, "source", "target");
  const before = endsBy(edges, "target", "source");
  const cone = new Set();
  const open = [...(before.get(head) || [])];
  while (open.length) {
    const node = open.pop();
    if (node === head || cone.has(node)) continue;
    if (!(after.get(node) || []).every((next) => next === head || cone.has(next))) continue;
    cone.add(node);
    open.push(...(before.get(node) || []));
  }
  return cone;
}

/** What edges have at one end, by what they have at the other.
    @param {Edge[]} edges
    @param {"source" | "target"} key
    @param {"source" | "target"} value
    @returns {Map<string, string[]>} */
export function endsBy(edges, key, value) {
  const found = new Map();
  for (const edge of edges) {
    const own = found.get(edge[key]);
    if (own) own.push(edge[value]);
    else found.set(edge[key], [edge[value]]);
  }
  return found;
}

/** What to fold of a plan with too many nodes, so that at most ``most`` are left where that is
    possible: of a path what follows the first ones, else what leads to one output alone.
    @param {Plan} plan
    @param {Node[] | null} path its nodes in order, if it is one path
    @param {number} most
    @returns {Folds} */
export function guarded(plan, path, most = MOST_NODES[path ? "lane" : "map"]) {
  const folds = new Map();
  if (plan.nodes.length <= most) return folds;
  if (path) {
    const [head, ...others] = path.slice(most - 2, -1);
    return folds.set(head.id, new Set(others.map((node) => node.id)));
  }
  const cones = plan.nodes.filter(({ role }) => role === "output").map(({ id }) => [id, coneOf(plan, id)]);
  let left = plan.nodes.length;
  for (const [id, cone] of cones.sort((a, b) => b[1].size - a[1].size)) {
    if (left <= most || !cone.size) break;
    folds.set(id, cone);
    left -= cone.size;
  }
  return folds;
}

/** The plan with folds in place of what they hold: nodes that hold others say how many (``holds``).
    @param {Plan} plan
    @param {Folds} folds */
export function folded(plan, folds) {
  if (!folds.size) return plan;
  const place = placesOf(folds);
  const at = (id) => place.get(id) ?? id;
  const edges = new Map();
  for (const edge of plan.edges) {
    const [source, target] = [at(edge.source), at(edge.target)];
    if (source !== target) edges.set(`${source}>${target}>${edge.queue || ""}`, { ...edge, source, target });
  }
  const nodes = plan.nodes.filter(({ id }) => !place.has(id)).map((node) => (folds.has(node.id) ? { ...node, holds: sizeOf(folds, node.id) } : node));
  return { ...plan, nodes, edges: [...edges.values()], hash: `${plan.hash}~${[...folds.keys()].sort().join("~")}` };
}

/** Node that is folded -> the visible one it is folded into.
    @param {Folds} folds */
export function placesOf(folds) {
  const place = new Map();
  for (const [head, members] of folds) for (const id of members) place.set(id, head);
  const top = (id) => (place.has(id) ? top(place.get(id)) : id);
  return new Map([...place.keys()].map((id) => [id, top(id)]));
}

function sizeOf(folds, head) {
  let n = 0;
  for (const one of placesOf(folds).values()) if (one === head) n += 1;
  return n;
}

/** The folds without those that hide a node.
    @param {Folds} folds
    @param {string} id */
export function showing(folds, id) {
  const hiding = [...folds].filter(([, members]) => !members.has(id));
  return hiding.length === folds.size ? folds : new Map(hiding);
}
