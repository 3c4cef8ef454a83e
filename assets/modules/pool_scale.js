/* The bar of a pool of memory: what its width stands for, and the value of the knob at a place of it. A pool
   that is endless has no limit where its knob is 0, which is the end of the bar. Pure. */
import { show } from "./format.js";

/** Grants are whole pages. */
export const PAGE = 4096;

/** The bytes that a value of the knob stands for. */
export const room = ({ endless }, value) => (endless && !Number(value) ? Infinity : Number(value));

/** How many bytes the whole width of the bar stands for: of bids far beyond the limit the first, so that the
    limit is not lost at its left end. */
export function widest({ asked, limit, knob }) {
  const most = knob.high === null ? Infinity : knob.high;
  const wanted = limit ? Math.min(asked, 4 * limit) : asked;
  return Math.min(most, Math.max(PAGE * 4, 1.25 * Math.max(wanted, limit || 0)));
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

/** What bids ask for in pieces, as they are served, packed from the left: bytes from `at` on, what a KiB of them
    saves, and how many of them are granted.
    @param {any[]} bids
    @param {(bid: any) => number} granted */
export function blocksOf(bids, granted) {
  const rank = ({ gain }) => (gain === null ? Infinity : gain);
  const blocks = bids.flatMap((bid) => {
    let left = granted(bid);
    return bid.tiers.map(([bytes, gain]) => {
      const lit = Math.min(left, bytes);
      left -= lit;
      return { bid, bytes, gain, lit };
    });
  });
  blocks.sort((one, other) => (rank(one) === rank(other) ? 0 : rank(other) - rank(one)));
  let at = 0;
  return blocks.map((block) => {
    at += block.bytes;
    return { ...block, at: at - block.bytes };
  });
}

/** What is saved by what is granted, in the unit of the bids. */
export const savedBy = (blocks) => blocks.reduce((sum, { gain, lit }) => sum + ((gain || 0) * lit) / 1024, 0);

/** The first piece that is not granted whole, null where all are. */
export const nextServed = (blocks) => blocks.find(({ bytes, lit, gain }) => lit < bytes && gain > 0) || null;

/** The lowest bid that is served, null while none is short. */
export function priceOf(blocks) {
  const served = blocks.filter(({ lit, gain }) => lit > 0 && gain !== null).map(({ gain }) => gain);
  return nextServed(blocks) && served.length ? Math.min(...served) : null;
}

/** Heights by powers of ten: lines at each of them, and the height of a value, 0..1. Values beyond four of them
    below the most are at the bottom.
    @param {number[]} gains */
export function heights(gains) {
  const known = gains.filter((gain) => gain > 0);
  const top = Math.max(...known, 1e-12);
  const high = Math.log10(top);
  const low = Math.max(high - 4, Math.floor(Math.log10(Math.min(...known, top)) - 0.3));
  const height = (gain) => (gain === null ? 1 : gain > 0 ? Math.max(0, (Math.log10(gain) - low) / (high - low)) : 0);
  const lines = [];
  for (let power = Math.ceil(low); power <= high; power += 1) lines.push(10 ** power);
  return { height, lines };
}

/** Round places of the bar, in bytes: at most eight, none at its end. */
export function poolTicks(whole) {
  let step = PAGE;
  while (whole / step > 8) step *= 2;
  return Array.from({ length: Math.floor((0.96 * whole) / step) }, (_, place) => (place + 1) * step);
}

/** Bytes to read, or that there is no limit.
    @param {number | null | undefined} bytes */
export const bytesText = (bytes) => (bytes === Infinity ? "no limit" : show(bytes, "bytes"));
