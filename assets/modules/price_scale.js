/* What bids are multiplied by, as a place of a line 0..1: linear up to a millionth of the most, then by powers
   of ten. Pure. */
import { knobPosition, knobStep, knobText, knobValue } from "./knob_scale.js";

const even = (knob) => ({ ...knob, default: knob.low });

/** @param {any} knob
    @param {number} value */
export const pricePlace = (knob, value) => knobPosition(even(knob), value) / 1000;

/** @param {any} knob
    @param {number} place */
export const priceAt = (knob, place) => knobValue(even(knob), 1000 * Math.min(1, Math.max(0, place)));

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
const JUMPS = { PageDown: -0.1, PageUp: 0.1 };

/** The price that a key asks for, undefined for other keys.
    @param {any} knob
    @param {string} key
    @param {number} value */
export function keyedPrice(knob, key, value) {
  if (key === "Home") return knob.low;
  if (key === "End") return knob.high;
  if (STEPS[key]) return knobStep(even(knob), value, STEPS[key]);
  return JUMPS[key] ? priceAt(knob, pricePlace(knob, value) + JUMPS[key]) : undefined;
}

/** @param {any} knob
    @param {number} value */
export const priceText = (knob, value) => `${knobText(value)}\u2009${knob.unit}`;
