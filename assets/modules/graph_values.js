/* What a card and an edge say: pure functions from the values of a batch. No DOM.

   values: {"system": {…}, "asc:x": {…}, "queue:x": n}, as in the live delta. */
const known = (value) => typeof value === "number" && !Number.isNaN(value);
const share = (part, whole) => (known(part) && known(whole) && whole > 0 ? part / whole : null);

/** Whether a node is a step of the plan: a construct or a filter. */
export const isStep = (id) => id.startsWith("asc:") || id.startsWith("filter:");

/** Numbers of the steps in plan order, plus those of the source and the output. */
export function cardValues(plan, values) {
  const system = values.system || {};
  const n = system.n_tuples;
  const rate = system.tuples_per_s;
  const steps = plan.nodes.filter((node) => isStep(node.id));
  const price = (own) => (known(own.cost_us) ? own.cost_us : 1); // filters cost time, constructs a visit
  const paid = (own) => (known(own.reached_tuples) ? own.reached_tuples * price(own) : null);
  const visits = steps.reduce((sum, node) => sum + (paid(values[node.id] || {}) || 0), 0);
  const cards = {};
  let alive = 1;
  for (const node of steps) {
    const own = values[node.id] || {};
    const reached = known(own.reached_tuples) ? own.reached_tuples : null;
    const after = known(own.survival_prob) ? own.survival_prob : null;
    cards[node.id] = {
      drop: known(own.drop_prob) ? own.drop_prob : null,
      reached,
      perSecond: known(rate) && share(reached, n) !== null ? rate * share(reached, n) : null,
      survival: after,
      drops: after === null ? null : Math.max(0, alive - after),
      visits: share(paid(own), visits),
      cost: known(own.cost_us) ? own.cost_us : null,
      n,
    };
    if (after !== null) alive = after;
  }
  return { cards, system, matched: share(system.n_matched, n), n };
}

/** Share of the batch's tuples on the edge into a node, [0, 1] or null. */
export function edgeShare(edge, facts) {
  if (edge.source === "op:source") return facts.n > 0 ? 1 : null;
  const card = facts.cards[edge.source];
  return card ? card.survival : null;
}

/** Size of a queue and how full its pill is drawn: relative to the batch, at most 1. */
export function queueFill(size, facts) {
  const filled = share(size, facts.n);
  return { size: known(size) ? size : null, fill: filled === null ? 0 : Math.min(1, filled) };
}

/* Colour metrics of the legend: name, what it means, and the number of a card. */
export const heats = {
  drops: { label: "tuples dropped here", of: (card) => card.drops },
  visits: { label: "share of visits (cost)", of: (card) => card.visits },
};

/** Upper end of the scale: the largest value, rounded up to 1, 2 or 5 times a power of ten. */
export function niceTop(numbers) {
  const top = Math.max(0, ...numbers.filter(known));
  if (top <= 0) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(top)));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= top * 0.999);
  return Math.min(1, step * power);
}

/** Class of the colour ramp (0..4) for a value on a scale, or null when unknown. */
export function heatStep(value, top) {
  return known(value) ? Math.min(4, Math.floor((5 * value) / top)) : null;
}

/** Points of a sparkline in a w x h box, or '' with fewer than two known points. */
export function sparkPoints(numbers, w, h) {
  const kept = (numbers || []).filter(known);
  if (kept.length < 2) return "";
  const high = Math.max(...kept);
  const span = Math.max(high - Math.min(...kept), 0.25 * Math.abs(high)) || 1; // noise stays small
  const low = (high + Math.min(...kept) - span) / 2;
  const y = (value) => h - ((value - low) / span) * h;
  return kept.map((value, i) => `${((i / (kept.length - 1)) * w).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
}
