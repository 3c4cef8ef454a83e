/* How a pool of memory is served: in descending order of bids, each cache what it wants while there is
   any left (dashboard/views/market.py has the numbers). Pure. */

/** Bytes each cache would have of a pool: those in use, the pinned ones first.
    @param {{id: string, state: string, choice: string, wanted: number | null, bid: number | null}[]} bids
    @param {number} pool bytes
    @returns {Map<string, number>} */
export function served(bids, pool) {
  const found = new Map();
  let left = pool;
  for (const one of inLine(bids)) {
    const given = Math.min(left, one.wanted || 0);
    found.set(one.id, given);
    left -= given;
  }
  return found;
}

/** The caches in use in the order they are served. */
export const inLine = (bids) =>
  bids
    .filter((one) => one.state === "used")
    .sort((a, b) => Number(b.choice === "pinned") - Number(a.choice === "pinned") || (b.bid || 0) - (a.bid || 0));

/** What another pool would do: [{id, short, from, to}] of the caches that would have other bytes, those
    that lose in the order they give way, those that gain in the order they are served. */
export function moved(bids, now, next) {
  const before = served(bids, now);
  const after = served(bids, next);
  const found = inLine(bids)
    .map(({ id, short }) => ({ id, short, from: before.get(id), to: after.get(id) }))
    .filter(({ from, to }) => from !== to);
  return next < now ? found.reverse() : found;
}

/** Time of the join for each element under a pool, us: what caches save grows with the part of the bytes
    they want that they have. null: not known. */
export function worked({ plain, bids }, pool) {
  if (plain === null || plain === undefined) return null;
  const given = served(bids, pool);
  const saved = ({ id, benefit, upkeep, wanted }) => {
    const part = wanted ? given.get(id) / wanted : 1;
    return given.get(id) ? part * (benefit || 0) - (upkeep || 0) : 0;
  };
  return inLine(bids).reduce((left, one) => left - saved(one), plain);
}

/** The bid of the last cache that a pool serves, null while memory is left over. */
export function price(bids, pool) {
  const line = inLine(bids);
  if (line.reduce((sum, one) => sum + (one.wanted || 0), 0) <= pool) return null;
  const given = served(bids, pool);
  const last = line.filter((one) => given.get(one.id)).pop();
  return last ? last.bid : null;
}

/** How many bytes the whole width of the bar stands for. */
export function widest({ bytes, bids, knobs }) {
  const wanted = bids.filter((one) => one.state === "used" || (one.bid || 0) > 0).reduce((sum, one) => sum + (one.wanted || 0), 0);
  const most = knobs.pool && knobs.pool.high !== null ? knobs.pool.high : Infinity;
  return Math.min(most, Math.max(PAGE * 4, 1.25 * Math.max(wanted, bytes || 0)));
}

/** Grants are whole pages. */
export const PAGE = 4096;

/** The pool at a place of the bar, in whole pages within the knob's range. */
export function poolAt({ knobs }, bytes) {
  const { low, high } = knobs.pool;
  const whole = Math.round(bytes / PAGE) * PAGE;
  return Math.min(high === null ? whole : high, Math.max(low === null ? whole : low, whole));
}

const EDGE_STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** The pool a key asks for, null for other keys. */
export function keyed(market, key, value) {
  if (key === "Home") return poolAt(market, 0);
  if (key === "End") return poolAt(market, widest(market));
  return EDGE_STEPS[key] ? poolAt(market, value + EDGE_STEPS[key] * PAGE) : null;
}

/** Names in the value of a knob without those of a cache; where there was none, with the first of them. */
export function chosen(value, own, separator) {
  const names = String(value || "").split(separator.trim()).map((one) => one.trim()).filter(Boolean);
  const kept = names.filter((one) => !own.includes(one));
  return (kept.length < names.length ? kept : [...names, own[0]]).join(separator);
}

/** Bytes to read: '512 B', '64 KB', '2.5 MB'. */
export function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return "—";
  for (const [size, unit] of /** @type {[number, string][]} */ ([[1 << 20, "MB"], [1 << 10, "KB"]])) {
    if (Math.abs(bytes) >= size) return `${Number((bytes / size).toPrecision(3))}\u2009${unit}`;
  }
  return `${Math.round(bytes)}\u2009B`;
}
