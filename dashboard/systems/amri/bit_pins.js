/* Bits of indexes as text: in the value of a knob, and in the address. Pure. */

/** The value of the knob of pinned bits with those of a state instead of what was there for it; null: with none.
    @param {string} value
    @param {string} state
    @param {number[] | null} bits */
export function pinned(value, state, bits) {
  const others = String(value || "").split(";").map((one) => one.trim()).filter((one) => one && one.replace(/\s*:[^:]*$/, "") !== state);
  return (bits === null ? others : [...others, `${state}: ${bits.join(" ")}`]).join("; ");
}

/** Bits with one taken from an attribute and given to another, by place; -1: it is not spent. The same where that is
    nothing.
    @param {number[]} bits
    @param {number} from
    @param {number} to */
export function moved(bits, from, to) {
  const next = [...bits];
  if (from === to || (from >= 0 && !next[from])) return bits;
  if (from >= 0) next[from] -= 1;
  if (to >= 0) next[to] += 1;
  return next;
}

/** What the page shows: a state, an index, a stretch of batches.
    @param {{state: string, at: string}} view
    @param {string} index
    @param {string} stretch */
export const shown = ({ state, at }, index, stretch) => [state, index, stretch].join(at);

export const total = (bits) => bits.reduce((sum, n) => sum + n, 0);
