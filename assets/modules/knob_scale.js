/* A knob's range as slider positions 0..1000, and its values as text and back. Pure. */
import { show } from "./format.js";

const TOP = 1000;
const DEEP = 1e6;

/* A log scale from 0 is linear up to its knee: a hundredth of the default, so that what people turn to
   lies in the middle of the slider, whatever its upper end allows. */
const knee = ({ default: start, low, high }) => (start > low ? (start - low) / 100 : (high - low) / DEEP);

/** Whether a slider makes sense: a number with both ends. */
export const knobSlides = (knob) =>
  (knob.kind === "float" || knob.kind === "int") && knob.low !== null && knob.high !== null && knob.high > knob.low;

export function knobPosition(knob, value) {
  const { low, high } = knob;
  const inside = Math.min(high, Math.max(low, Number(value)));
  if (knob.scale !== "log") return (TOP * (inside - low)) / (high - low);
  if (low > 0) return (TOP * Math.log(inside / low)) / Math.log(high / low);
  return (TOP * Math.log1p((inside - low) / knee(knob))) / Math.log1p((high - low) / knee(knob));
}

export function knobValue(knob, position) {
  const { low, high } = knob;
  const part = position / TOP;
  if (part <= 0) return low;
  if (part >= 1) return high;
  if (knob.scale !== "log") return rounded(knob, low + part * (high - low));
  if (low > 0) return rounded(knob, low * Math.pow(high / low, part));
  return rounded(knob, low + knee(knob) * Math.expm1(part * Math.log1p((high - low) / knee(knob))));
}

/** One step up (+1) or down (-1): a tenth on log scales, a hundredth of the range otherwise. */
export function knobStep(knob, value, way) {
  const number = Number(value);
  const least = knob.kind === "int" ? 1 : 0;
  const span = knob.low === null || knob.high === null ? Math.abs(number) || 1 : knob.high - knob.low;
  const size = knob.scale === "log" ? Math.abs(number) / 10 || knee(knob) : span / 100;
  return clamped(knob, rounded(knob, number + way * Math.max(least, size)));
}

function clamped(knob, value) {
  const low = knob.low === null ? -Infinity : knob.low;
  const high = knob.high === null ? Infinity : knob.high;
  return Math.min(high, Math.max(low, value));
}

/* Three significant digits: what a hand on a slider means. */
function rounded(knob, value) {
  const short = Number(value.toPrecision(3));
  return clamped(knob, knob.kind === "int" ? Math.round(short) : short);
}

/** The value of a text box in the knob's own type, or null when it is none. */
export function knobParse(knob, text) {
  if (knob.kind === "choice" || knob.kind === "text") return text;
  if (knob.kind === "bool") return text === true || text === "true";
  const number = Number(text);
  if (text === "" || Number.isNaN(number)) return null;
  return knob.kind === "int" && !Number.isInteger(number) ? null : number;
}

/** What is wrong with a draft, as one phrase, or ''. The engine checks again. */
export function knobProblem(knob, text) {
  const value = knobParse(knob, text);
  if (value === null && /^\s*[+-]?\d*,\d+\s*$/.test(text)) return `with a decimal point, please: ${text.trim().replace(",", ".")}`;
  if (value === null) return knob.kind === "int" ? "a whole number, please" : "a number, please";
  if (knob.kind === "choice") return knob.choices.includes(value) ? "" : `one of ${knob.choices.join(", ")}`;
  if (typeof value !== "number") return "";
  if (knob.low !== null && value < knob.low) return `at least ${knob.low}`;
  return knob.high !== null && value > knob.high ? `at most ${knob.high}` : "";
}

export function knobRange(knob) {
  if (knob.kind === "choice") return knob.choices.join(" · ");
  if (knob.kind === "bool") return "on, off";
  if (knob.kind === "text") return "a line of text";
  return `${knob.low === null ? "−∞" : knobText(knob.low)} … ${knob.high === null ? "∞" : knobText(knob.high)}`;
}

/** A knob's value to read: digits of whole numbers in groups. */
export const knobText = (value) => (Number.isInteger(value) ? show(value, "int") : String(value));
