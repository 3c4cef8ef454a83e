/* What a card and an edge say: pure functions from the values of a batch. No DOM.

   values by entity: {property: value}, or a number for what has a size only; as in the live delta. */
const isKnown = (value) => typeof value === "number" && !Number.isNaN(value);
const share = (part, whole) => (isKnown(part) && isKnown(whole) && whole > 0 ? part / whole : null);
const orNull = (value) => (isKnown(value) ? value : null);

/** The plan with all that is known of each node: what its kind has in common, and its own.
    @param {any} plan as dashboard/views/plan.py graph_plan sends it */
export const described = (plan) => ({ ...plan, nodes: plan.nodes.map((node) => ({ entity: node.id, ...plan.kinds[node.kind], ...node })) });

/** Whether a node is a step of the plan: a construct or a filter.
    @param {{role: string}} node */
export const isStep = (node) => node.role === "step";

/** Numbers of the steps, and what all cards need: the whole, its tuples, the share that matched.
    @param {{nodes: any[], edges: any[]}} plan nodes in an order of the flow
    @param {Object<string, any>} values */
export function cardValues(plan, values) {
  const system = values.system || {};
  const n = system.n_tuples;
  const rate = system.tuples_per_s;
  const steps = plan.nodes.filter(isStep);
  const price = (own) => (isKnown(own.cost_us) ? own.cost_us : 1); // filters cost time, constructs a visit
  const paid = (own) => (isKnown(own.reached_tuples) ? own.reached_tuples * price(own) : null);
  const visits = steps.reduce((sum, node) => sum + (paid(values[node.id] || {}) || 0), 0);
  const before = new Map(plan.edges.map((edge) => [edge.target, edge.source]));
  const alive = {}; // after each step, the last known where one is unknown
  /** @type {Object<string, any>} */
  const cards = {};
  for (const { id } of steps) {
    const own = values[id] || {};
    const reached = orNull(own.reached_tuples);
    const survival = orNull(own.survival_prob);
    const ahead = alive[before.get(id)] ?? 1;
    cards[id] = {
      drop: orNull(own.drop_prob),
      reached,
      perSecond: isKnown(rate) && share(reached, n) !== null ? rate * share(reached, n) : null,
      survival,
      drops: survival === null ? null : Math.max(0, ahead - survival),
      visits: share(paid(own), visits),
      cost: orNull(own.cost_us),
      n,
    };
    alive[id] = survival ?? ahead;
  }
  return { cards, values, system, matched: share(system.n_matched, n), n };
}

/** Share of the batch's tuples on the edge behind a node, [0, 1]; null when it is not known yet,
    undefined where it has none. */
export function edgeShare(source, facts) {
  if (source.role === "source") {
    const own = facts.values[source.entity];
    return own === facts.system ? (facts.n > 0 ? 1 : null) : share((own || {}).reached_tuples, facts.n);
  }
  const card = facts.cards[source.id];
  return card ? card.survival : undefined;
}

/** Size of a queue and how full its pill is drawn: relative to the batch, at most 1. */
export function queueFill(size, facts) {
  const filled = share(size, facts.n);
  return { size: isKnown(size) ? size : null, fill: filled === null ? 0 : Math.min(1, filled) };
}

/* What cards show: number and colour are the same. label: in the legend; word: beside the number. */
export const heats = {
  drop: { label: "dropped of what comes", word: "dropped", of: (card) => card.drop },
  drops: { label: "dropped of all tuples", word: "of all", of: (card) => card.drops },
  visits: { label: "share of visits (cost)", word: "of cost", of: (card) => card.visits },
};

/** The name of a heat, the first for one that nobody knows.
    @param {string | null} name */
export const heatNamed = (name) => (name && name in heats ? name : Object.keys(heats)[0]);

/** Upper end of the scale: the largest value, rounded up to 1, 2 or 5 times a power of ten. */
export function niceTop(numbers) {
  const top = Math.max(0, ...numbers.filter(isKnown));
  if (top <= 0) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(top)));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= top * 0.999);
  return Math.min(1, step * power);
}

/** Class of the colour ramp (0..4) for a value on a scale, or null when unknown. */
export function heatStep(value, top) {
  return isKnown(value) ? Math.min(4, Math.floor((5 * value) / top)) : null;
}
