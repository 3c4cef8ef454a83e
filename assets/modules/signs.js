/* How old a sign of life is, whatever is done to the clock of a machine: the first look at it goes by the
   engine's time of day, later ones by a clock that nobody sets, as storage/exchange/liveness.py has it. */
import { engineTime } from "./clock.js";

const seen = {};

/** Seconds since a sign of a kind ("batch", "beat"), null where there is none.
    @param {string} kind
    @param {number | null} time of the newest one (Unix s)
    @param {number} [now] Unix s
    @param {number} [at] s of a clock that goes evenly
    @returns {number | null} */
export function ageOf(kind, time, now = engineTime(), at = performance.now() / 1000) {
  if (typeof time !== "number") return null;
  if (!seen[kind] || seen[kind].time !== time) seen[kind] = { time, since: at - Math.max(0, now - time) };
  return at - seen[kind].since;
}

/** The newer of two signs; one that lies ahead is of before the clock was set back.
    @param {number | null} before Unix s
    @param {number | null} then Unix s
    @param {number} [now] Unix s
    @returns {number | null} */
export function newerOf(before, then, now = engineTime()) {
  if (typeof then !== "number") return before;
  return typeof before !== "number" || then > before || before > now + AHEAD_S ? then : before;
}

/* By so much a record may lie ahead of the time told. */
const AHEAD_S = 2;
