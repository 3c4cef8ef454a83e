/* Points of accuracy over memory: what is between two of them, and which limit a place or a key asks for. Pure. */

/** @typedef {{limit: number, tuples: number, bytes: number, accuracy: number, at_once: number | null, going: [string, number][]}} Point */

/** The limit at which nothing is shed.
    @param {Point[]} points */
export const wholeOf = (points) => Math.max(1, Math.ceil(points[points.length - 1].limit));

const mixed = (one, other, share) => one + share * (other - one);

/** What a limit comes to, between two points as on a line; 0 is no limit.
    @param {Point[]} points
    @param {number} limit
    @returns {Point} */
export function pointAt(points, limit) {
  const last = points[points.length - 1];
  if (!limit || limit >= last.limit) return last;
  const place = Math.max(1, points.findIndex((one) => one.limit >= limit));
  const [low, high] = [points[place - 1], points[place]];
  const share = high.limit > low.limit ? (limit - low.limit) / (high.limit - low.limit) : 1;
  const mix = (name) => mixed(low[name], high[name], share);
  const now = low.at_once === null || high.at_once === null ? null : mix("at_once");
  const left = new Map(high.going);
  const going = low.going.map(([value, n]) => [value, Math.round(mixed(n, left.get(value) || 0, share))]).filter(([, n]) => n > 0).sort((one, other) => other[1] - one[1]);
  return { limit, tuples: mix("tuples"), bytes: mix("bytes"), accuracy: mix("accuracy"), at_once: now, going };
}

/** The limit at a share of the axis, 0 at its end: whole tuples, one at least.
    @param {Point[]} points
    @param {number} share */
export function limitAt(points, share) {
  const whole = wholeOf(points);
  return share >= 1 ? 0 : Math.max(1, Math.round(share * whole));
}

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** The limit that a key asks for, null for other keys: a hundredth of the window, or a tenth.
    @param {Point[]} points
    @param {string} key
    @param {number} limit */
export function keyedLimit(points, key, limit) {
  if (key === "Home") return 1;
  if (key === "End") return 0;
  if (!STEPS[key]) return null;
  const whole = wholeOf(points);
  const next = (limit || whole) + STEPS[key] * Math.max(1, Math.round(whole / 100));
  return next >= whole ? 0 : Math.max(1, next);
}
