/* The bar of a pool of memory: what its width stands for, and the value of the knob at a place of it. A pool
   that is endless has no limit where its knob is 0, which is the end of the bar. Pure. */
import { show } from "./format.js";

/** Grants are whole pages. */
export const PAGE = 4096;

/** The bytes that a value of the knob stands for. */
export const room = ({ endless }, value) => (endless && !Number(value) ? Infinity : Number(value));

/** How many bytes the whole width of the bar stands for. */
export function widest({ asked, limit, knob }) {
  const most = knob.high === null ? Infinity : knob.high;
  return Math.min(most, Math.max(PAGE * 4, 1.25 * Math.max(asked, limit || 0)));
}

/** The value of the knob at a place of the bar, in whole pages within its range. */
export function poolAt(pool, bytes) {
  const { low, high } = pool.knob;
  const whole = Math.round(bytes / PAGE) * PAGE;
  if (pool.endless) return bytes >= widest(pool) ? 0 : Math.max(PAGE, whole);
  return Math.min(high === null ? whole : high, Math.max(low === null ? whole : low, whole));
}

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** The value a key asks for, null for other keys. */
export function keyed(pool, key, value) {
  if (key === "Home") return poolAt(pool, 0);
  if (key === "End") return poolAt(pool, widest(pool));
  const from = Number.isFinite(value) ? value : widest(pool);
  return STEPS[key] ? poolAt(pool, from + STEPS[key] * PAGE) : null;
}

/** Bytes to read, or that there is no limit.
    @param {number | null | undefined} bytes */
export const bytesText = (bytes) => (bytes === Infinity ? "no limit" : show(bytes, "bytes"));
