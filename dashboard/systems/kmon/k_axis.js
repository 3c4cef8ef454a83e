/* The axis of k: logarithmic from 0 on, and behind a gap ∞. Places are per cent of its width. Pure. */

/** Where the largest number stands, and ∞. */
export const FINITE = 90;
export const ENDLESS = 97;

/** The place of a k; null and Infinity are ∞.
    @param {number | null} k
    @param {number} top the largest number on the axis */
export const placeOf = (k, top) => (k === null || !Number.isFinite(k) ? ENDLESS : (FINITE * Math.log1p(Math.max(0, Math.min(k, top)))) / Math.log1p(top));

/** The largest number on the axis: a little more than the largest there is.
    @param {(number | null)[]} numbers */
export const topOf = (numbers) => Math.max(10, 1.15 * Math.max(0, ...numbers.filter((one) => typeof one === "number" && Number.isFinite(one))));

/** Numbers that the axis is marked at.
    @param {number} top */
export function ticksOf(top) {
  const found = [0];
  for (let k = 1; k <= top; k *= 10) found.push(k);
  return found;
}

/** k to read.
    @param {number | null | undefined} k */
export const kText = (k) => (k === null || k === undefined || !Number.isFinite(k) ? "∞" : String(Math.round(k)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f"));

/** A number below the axis, short enough to stand beside ∞: 10k.
    @param {number | null} k */
export const tickText = (k) => (k !== null && k >= 10_000 ? `${kText(k / 1000)}k` : kText(k));

/** Of the rows of a what-if, the smallest k first and ∞ last, the one that tells of a k: the last that is
    not larger.
    @param {{k: number | null}[]} rows
    @param {number | null} k */
export function rowOf(rows, k) {
  if (k === null) return rows[rows.length - 1];
  let found = rows[0];
  for (const row of rows) if (row.k !== null && row.k <= k) found = row;
  return found;
}

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** The k that a key asks for, undefined for other keys: from row to row, PageUp and PageDown ten, the ends.
    @param {{k: number | null}[]} rows
    @param {string} key
    @param {number | null} k */
export function keyedK(rows, key, k) {
  if (key === "Home") return rows[0].k;
  if (key === "End") return null;
  if (!STEPS[key]) return undefined;
  const at = rows.indexOf(rowOf(rows, k));
  const off = k !== null && rows[at].k !== k && STEPS[key] < 0 ? 1 : 0; // between two rows: down to the lower one
  return rows[Math.max(0, Math.min(rows.length - 1, at + STEPS[key] + off))].k;
}

/** The k of the row that is nearest to a place.
    @param {{k: number | null}[]} rows
    @param {number} place
    @param {number} top */
export const nearestK = (rows, place, top) => rows.reduce((best, row) => (Math.abs(placeOf(row.k, top) - place) < Math.abs(placeOf(best.k, top) - place) ? row : best)).k;

/** What would wait at a k, in times of what waits at ``base``; null: not bounded by k, or not known.
    @param {number | null} k
    @param {number | null} base */
export const waitsAt = (k, base) => (k === null || base === null ? null : (k + 1) / (base + 1));

/** A k as it is typed; undefined for what is none.
    @param {string} text */
export function parsedK(text) {
  const plain = text.replace(/\s/g, "").toLowerCase();
  if (["∞", "inf", "infinity"].includes(plain)) return null;
  return /^\d+$/.test(plain) ? Number(plain) : undefined;
}
