/* The points a delta brings. Pure. */

/** Properties of one row of ``delta.pts`` after batch and time; see dashboard/serving/deltas.py. */
const POINT = ["dropping_ratio", "visits_per_tuple", "tuples_per_s", "batch_ms"];

/** A delta as one {b, t, v} for every batch it tells of; all values come with the newest.
    @param {any} delta see dashboard/serving/deltas.py
    @returns {{b: number, t: number, v: Object<string, any>}[]} */
export function pointsOf(delta) {
  const points = (delta.pts || []).map(([b, t, ...numbers]) => ({
    b,
    t,
    v: { system: Object.fromEntries(POINT.map((name, i) => [name, numbers[i]])) },
  }));
  const last = points[points.length - 1];
  if (last && last.b === delta.b) last.v = delta.v;
  else if (typeof delta.b === "number" && delta.v) points.push(delta);
  return points;
}

/** One delta that says what several in a row said; as merged in dashboard/serving/deltas.py.
    @param {any[]} deltas at least one */
export function merged(deltas) {
  return deltas.reduce((whole, one) => ({
    ...whole,
    ...one,
    cut: one.v ? one.cut : whole.cut,
    pts: [...(whole.pts || []), ...(one.pts || [])],
    new: [...new Set([...(whole.new || []), ...(one.new || [])])],
    gap: whole.gap || one.gap,
  }));
}

/** Batches told of before and those of a delta, oldest first, the last ``kept`` of them.
    @param {{b: number, t: number, v: Object<string, any>}[]} before
    @param {any} delta */
export function continued(before, delta, kept) {
  const fresh = pointsOf(delta);
  if (!fresh.length) return before;
  return [...before.filter(({ b }) => b < fresh[0].b), ...fresh].slice(-kept);
}

/* What is told of an entity with several sizes, by how many there are; as in dashboard/views/plan.py. */
const SHAPES = {
  2: ["size_tuples", "state_bytes"],
  3: ["flow_tuples", "queue_peak_tuples", "size_tuples"],
  4: ["size_tuples", "state_bytes", "saved_bytes", ""],
};

/** The size of a queue, synopsis or store, and by name what more is told of it.
    @param {any} own
    @returns {Object<string, number>} */
export function sizesOf(own) {
  if (Array.isArray(own)) return { size: own[0], ...Object.fromEntries(SHAPES[own.length].map((name, i) => [name, own[i]])) };
  if (own && own.size_tuples !== undefined) return { size: own.size_tuples, ...own };
  return typeof own === "number" ? { size: own } : {};
}

/* What a bare number may be: the size of a queue, synopsis or store; as in dashboard/views/plan.py. */
const SIZE = ["flow_tuples", "size_tuples"];

/** A value of a batch, or undefined where it tells nothing of the property.
    @param {Object<string, any>} values
    @param {string} entity
    @param {string} property
    @returns {number | undefined} */
export function valueOf(values, entity, property) {
  const own = values[entity];
  if (Array.isArray(own)) return sizesOf(own)[property];
  if (own === null || typeof own === "number") return SIZE.includes(property) ? own : undefined;
  return own === undefined ? undefined : own[property];
}
