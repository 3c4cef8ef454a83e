/* The order of table rows, the same for every kind of table. Pure. */

const isEmpty = (value) => value === null || value === undefined || value === "";

/** How two sort keys compare: numbers as numbers and before text, what is empty last.
    @param {unknown} a
    @param {unknown} b */
export function compare(a, b) {
  if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
  return String(a).localeCompare(String(b));
}

/** The rows in the order of their keys, ties as they were (from below when it goes down).
    @template R
    @param {R[]} rows
    @param {(row: R) => unknown} key
    @param {boolean} up */
export function sorted(rows, key, up) {
  const keyed = rows.map((row) => ({ row, key: key(row) })).sort((a, b) => compare(a.key, b.key));
  return (up ? keyed : keyed.reverse()).map(({ row }) => row);
}
