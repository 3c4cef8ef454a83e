/* When batches were recorded, and ranges of them. Pure.

   times: [[batch, Unix s]…], oldest first; between two known ones batches and times go in proportion. */

/** @typedef {[number, number][]} Times */

const sums = (steps) => {
  let total = 0;
  return steps.map((step) => (total += step));
};

/** What a snapshot tells of the batches so far: when each was, and the cost of those of which it is known.
    @param {{batch?: number[], ms?: number[], value?: (number | null)[]}} packed dashboard/views/shell.py
    @returns {{times: Times, cost: Times}} */
export function unpacked({ batch = [], ms = [], value = [] }) {
  const at = sums(ms);
  const batches = sums(batch);
  const cost = batches.flatMap((b, i) => (value[i] === null ? [] : [[b, value[i]]]));
  return { times: batches.map((b, i) => [b, at[i] / 1000]), cost };
}

/** When a batch was recorded, or null.
    @param {Times} times
    @param {number | null} batch
    @returns {number | null} */
export function timeOf(times, batch) {
  if (batch === null || !times.length) return null;
  const after = times.findIndex(([b]) => b > batch);
  if (after < 0) return times[times.length - 1][1];
  if (after === 0) return times[0][1];
  const [[b0, t0], [b1, t1]] = [times[after - 1], times[after]];
  return t0 + ((t1 - t0) * (batch - b0)) / (b1 - b0);
}

/** The batch at a recorded time, the last before it; the newest known after all of them.
    @param {Times} times
    @param {number} time
    @returns {number | null} */
export function batchOf(times, time) {
  if (!times.length) return null;
  const after = times.findIndex(([, t]) => t > time);
  if (after < 0) return times[times.length - 1][0];
  if (after === 0) return times[0][0];
  const [[b0, t0], [b1, t1]] = [times[after - 1], times[after]];
  return Math.floor(b0 + ((b1 - b0) * (time - t0)) / Math.max(1e-9, t1 - t0));
}

/** The same where the clock was never set back: no time passed then.
    @param {Times} times
    @returns {Times} */
export function evened(times) {
  let back = 0;
  return times.map(([batch, time], i) => [batch, time + (back += i ? Math.max(0, times[i - 1][1] - time) : 0)]);
}

/** Spans to choose from: name in the address -> [words, seconds]. */
export const SPANS = { "5m": ["5 min", 300], "15m": ["15 min", 900], "1h": ["1 h", 3600] };

/** The batches of a span: its last minutes, from one batch to another (120-260), or all.
    @param {string | null} span
    @param {{first: number, last: number}} whole
    @param {Times} times
    @returns {{first: number, last: number}} */
export function spanOf(span, whole, times) {
  const ends = /^(\d+)-(\d+)$/.exec(span || "");
  if (ends) {
    const first = Math.max(whole.first, Math.min(Number(ends[1]), whole.last - 1));
    return { first, last: Math.max(first + 1, Math.min(Number(ends[2]), whole.last)) };
  }
  const chosen = SPANS[span || ""];
  if (!chosen || !times.length) return whole;
  const even = evened(times);
  const first = batchOf(even, even[even.length - 1][1] - chosen[1]);
  return { first: Math.max(whole.first, Math.min(first === null ? 0 : first, whole.last - 1)), last: whole.last };
}

/** The upper end of a scale that a few batches of another order of size (the first ones, which compile)
    do not flatten: {top, cut}, cut being how many points lie above it. The newest point is always on it.
    @param {number[]} numbers oldest first */
export function robustTop(numbers) {
  const ordered = numbers.filter((value) => typeof value === "number" && !Number.isNaN(value)).sort((a, b) => a - b);
  const most = ordered.length ? ordered[ordered.length - 1] : 0;
  if (ordered.length < 10) return { top: most, cut: 0 };
  const limit = 4 * ordered[Math.floor(0.75 * (ordered.length - 1))];
  const top = 1.1 * ordered.findLast((value) => value <= limit);
  const cut = ordered.filter((value) => value > top).length;
  if (!cut || limit <= 0 || cut > 0.1 * ordered.length || numbers[numbers.length - 1] > top) return { top: most, cut: 0 };
  return { top, cut };
}

/** When the batches of a range were recorded, [Unix s, Unix s]; null where that is one instant.
    @param {Times} times
    @param {{first: number, last: number}} range */
export function timesOf(times, { first, last }) {
  const ends = [timeOf(times, first), timeOf(times, last)];
  return ends[1] > ends[0] ? ends : null;
}
