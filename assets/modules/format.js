/* Numbers as text, as dashboard/components/formats.py writes them. Unknown is always '—'. */
const THIN = "\u2009";
const STEPS = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

function si(value) {
  for (const [step, letter] of STEPS) {
    if (Math.abs(value) >= step * 0.9995) {
      const scaled = value / step;
      return scaled.toFixed(Math.abs(scaled) >= 99.95 ? 0 : 1) + letter;
    }
  }
  return value.toFixed(Math.abs(value) >= 99.95 || Number.isInteger(value) ? 0 : 1);
}

const FORMS = {
  int: (value) => value.toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, THIN),
  si,
  pct: (value) => (100 * value).toFixed(value === 1 ? 0 : 1) + THIN + "%",
  f2: (value) => value.toFixed(2),
  f3: (value) => value.toFixed(3),
  ms: (value) => (Math.abs(value) >= 1000 ? (value / 1000).toFixed(2) + THIN + "s" : value.toFixed(0) + THIN + "ms"),
};

export function show(value, form) {
  if (value === null || value === undefined || value === "" || Number.isNaN(value)) return "—";
  if (typeof value !== "number" || !FORMS[form]) return String(value);
  return FORMS[form](value);
}

/** A duration in its largest sensible unit. */
export function age(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "—";
  if (seconds < 9.95) return Math.max(0, seconds).toFixed(1) + " s";
  if (seconds < 99.5) return seconds.toFixed(0) + " s";
  if (seconds < 5970) return (seconds / 60).toFixed(0) + " min";
  if (seconds < 172800) return (seconds / 3600).toFixed(1) + " h";
  return (seconds / 86400).toFixed(0) + " d";
}

/** UTC time of day of Unix seconds. */
export function clock(time) {
  return typeof time === "number" ? new Date(time * 1000).toISOString().slice(11, 19) : "—";
}
