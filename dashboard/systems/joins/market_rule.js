/* How a pool of memory is served: in descending order of what a KiB saves, each cache what it wants while
   there is any left (market_view.py has the numbers). Pure. */

import { show } from "./format.js";

/** What a cache wants, tier by tier: bytes, cost a tuple and KB, cost a tuple; without tiers all at its bid. */
const tiersOf = ({ tiers, wanted, bid, benefit }) => (tiers && tiers.length ? tiers : [[wanted || 0, bid || 0, benefit || 0]]);

/** Bytes each cache would have of a pool: those in use, the pinned ones first.
    @param {{id: string, state: string, choice: string, wanted: number | null, bid: number | null, pool?: string}[]} bids
    @param {number} pool bytes
    @param {Record<string, number>} caps bytes of the pools that share it
    @returns {Map<string, number>} */
export function served(bids, pool, caps = {}) {
  const line = inLine(bids);
  const found = new Map(line.map(({ id }) => [id, 0]));
  const room = { ...caps };
  let left = pool;
  const asked = line.flatMap((one) => tiersOf(one).map(([bytes, priority]) => ({ one, bytes, priority })));
  asked.sort((a, b) => pinnedFirst(a.one, b.one) || b.priority - a.priority);
  for (const { one, bytes } of asked) {
    const own = room[one.pool] === undefined ? Infinity : room[one.pool];
    const given = Math.min(left, own, bytes);
    found.set(one.id, found.get(one.id) + given);
    room[one.pool] = own - given;
    left -= given;
  }
  return found;
}

const pinnedFirst = (a, b) => Number(b.choice === "pinned") - Number(a.choice === "pinned");

/** The caches in use in the order they are served. */
export const inLine = (bids) =>
  bids
    .filter((one) => one.state === "used")
    .sort((a, b) => pinnedFirst(a, b) || (b.bid || 0) - (a.bid || 0));

/** What another pool would do: [{id, short, from, to}] of the caches that would have other bytes, those
    that lose in the order they give way, those that gain in the order they are served. */
export function moved({ bids, caps }, now, next) {
  const before = served(bids, now, caps);
  const after = served(bids, next, caps);
  const found = inLine(bids)
    .map(({ id, short }) => ({ id, short, from: before.get(id), to: after.get(id) }))
    .filter(({ from, to }) => from !== to);
  return next < now ? found.reverse() : found;
}

/** Cost of the joins for each element under a pool. A cache saves what it does now, and more or less by what
    the tiers save that it gets or loses: stretches of its miss-ratio curve, else in proportion to its bytes.
    null: not known. */
export function worked({ plain_now: plain, bids, caps }, pool) {
  if (plain === null || plain === undefined) return null;
  const given = served(bids, pool, caps);
  const saved = (one) => {
    const bytes = given.get(one.id);
    if (!bytes) return 0;
    const held = one.granted === null || one.granted === undefined ? one.wanted || 0 : one.granted;
    return (one.benefit || 0) + along(one, bytes) - along(one, held) - (one.upkeep || 0);
  };
  return inLine(bids).reduce((left, one) => left - saved(one), plain);
}

/** What the first bytes of a cache save. */
function along(one, bytes) {
  let left = bytes;
  return tiersOf(one).reduce((sum, [size, , saving]) => {
    const part = Math.min(left, size);
    left -= part;
    return sum + (size ? (saving * part) / size : 0);
  }, 0);
}

/** The bid of the last cache that a pool serves, null while memory is left over. */
export function price({ bids, caps }, pool) {
  const line = inLine(bids);
  if (line.reduce((sum, one) => sum + (one.wanted || 0), 0) <= pool) return null;
  const given = served(bids, pool, caps);
  const last = line.filter((one) => given.get(one.id)).pop();
  return last ? last.bid : null;
}

/** How many bytes the whole width of the bar stands for. */
export function widest({ bytes, bids, knobs }) {
  const wanted = bids.filter((one) => one.state === "used" || (one.bid || 0) > 0).reduce((sum, one) => sum + (one.wanted || 0), 0);
  const most = knobs.pool && knobs.pool.high !== null ? knobs.pool.high : Infinity;
  const given = Number.isFinite(bytes) ? bytes || 0 : 0;
  return Math.min(most, Math.max(PAGE * 4, 1.25 * Math.max(wanted, given)));
}

/** The bytes that a value of the knob stands for: of a pool that may have no limit 0 is that. */
export const room = ({ limitless }, value) => (limitless && !value ? Infinity : value);

/** Grants are whole pages. */
export const PAGE = 4096;

/** The value of the knob at a place of the bar, in whole pages within its range; where there may be no limit,
    at the end of the bar. */
export function poolAt(market, bytes) {
  const { low, high } = market.knobs.pool;
  const whole = Math.round(bytes / PAGE) * PAGE;
  if (market.limitless) return bytes >= widest(market) ? 0 : Math.max(PAGE, whole);
  return Math.min(high === null ? whole : high, Math.max(low === null ? whole : low, whole));
}

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** The pool a key asks for, null for other keys. */
export function keyed(market, key, value) {
  if (key === "Home") return poolAt(market, 0);
  if (key === "End") return poolAt(market, widest(market));
  const from = Number.isFinite(value) ? value : widest(market);
  return STEPS[key] ? poolAt(market, from + STEPS[key] * PAGE) : null;
}

/** Bytes to read, or that there is no limit.
    @param {number | null | undefined} bytes */
export const bytesText = (bytes) => (bytes === Infinity ? "no limit" : show(bytes, "bytes"));
