/* Numbers as text, exactly as dashboard/components/formats.py writes them. Unknown is always '—'.
   And words for a shell. Pure. */
const THIN = "\u2009";
/** @type {[number, string][]} */
const STEPS = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** Decimals as Python writes them: a number halfway goes to the even digit, and no zero is negative.
    Only multiples of 1/16 can be halfway between two numbers of at most three decimals.
    @param {number} value
    @param {number} digits */
function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  const halfway = Number.isInteger(16 * value) && Math.abs(scaled % 1) === 0.5;
  const text = halfway ? ((2 * Math.round(scaled / 2)) / 10 ** digits).toFixed(digits) : value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

function si(value) {
  for (const [step, letter] of STEPS) {
    if (Math.abs(value) >= step * 0.9995) {
      const scaled = value / step;
      return fixed(scaled, Math.abs(scaled) >= 99.95 ? 0 : 1) + letter;
    }
  }
  return fixed(value, Math.abs(value) >= 99.95 || Number.isInteger(value) ? 0 : 1);
}

/** @type {[number, string][]} */
const SIZES = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

/* Three digits, without zeros at the end. */
function bytes(value) {
  const [size, unit] = SIZES.find(([size]) => Math.abs(value) * 1024 >= size * 999.5) || SIZES[SIZES.length - 1];
  const scaled = value / size;
  const text = fixed(scaled, Math.abs(scaled) >= 99.95 || size === 1 ? 0 : Math.abs(scaled) >= 9.995 ? 1 : 2);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text) + THIN + unit;
}

/** @type {Object<string, (value: number) => string>} */
const FORMS = {
  bytes,
  int: (value) => fixed(value, 0).replace(/\B(?=(\d{3})+(?!\d))/g, THIN),
  si,
  pct: (value) => fixed(100 * value, value === 1 ? 0 : 1) + THIN + "%",
  f2: (value) => fixed(value, 2),
  f3: (value) => fixed(value, 3),
  ms: (value) => (Math.abs(value) >= 1000 ? fixed(value / 1000, 2) + THIN + "s" : fixed(value, 0) + THIN + "ms"),
};

/** A value in one of the forms; text and unknown forms as they are.
    @param {unknown} value
    @param {string} [form] */
export function show(value, form) {
  if (value === null || value === undefined || value === "" || Number.isNaN(value)) return "—";
  if (typeof value !== "number" || !FORMS[form]) return String(value);
  return FORMS[form](value);
}

/** Three significant digits, without the zeros of a whole number.
    @param {number} value */
export const shortNumber = (value) => (Math.abs(value) >= 100 ? fixed(value, 0) : String(Number(value.toPrecision(3))));

/** A duration in its largest sensible unit.
    @param {number | null | undefined} seconds */
export function age(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "—";
  if (seconds < 9.95) return fixed(Math.max(0, seconds), 1) + " s";
  if (seconds < 99.5) return fixed(seconds, 0) + " s";
  if (seconds < 5970) return fixed(seconds / 60, 0) + " min";
  if (seconds < 172800) return fixed(seconds / 3600, 1) + " h";
  return fixed(seconds / 86400, 0) + " d";
}

/** UTC time of day of Unix seconds.
    @param {number | null} time */
export const clock = (time) => (typeof time === "number" ? new Date(time * 1000).toISOString().slice(11, 19) : "—");

/** A word as a POSIX shell takes it for one.
    @param {string} word */
export const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
