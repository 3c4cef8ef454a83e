/* Knobs whose value is a list of names. Pure. */

/** Names in the value of a knob without those of a thing; where there was none, with the first of them.
    @param {string} value
    @param {string[]} own
    @param {string} separator */
export function chosen(value, own, separator) {
  const names = String(value || "").split(separator.trim()).map((one) => one.trim()).filter(Boolean);
  const kept = names.filter((one) => !own.includes(one));
  return (kept.length < names.length ? kept : [...names, own[0]]).join(separator);
}
