/* The range of batches on screen, everywhere the same: the address's span over what is recorded. */
import { currentShell } from "./header.js";
import { currentMode, known, moment } from "./moment.js";
import { spanOf, timesOf } from "./times.js";

const ROOM = 0.065; // of the run: what plotly leaves beside marks, so that no figure ends elsewhere

/** All batches recorded, {first, last}. */
export function wholeRange() {
  const shell = currentShell();
  const first = shell && shell.first !== null ? shell.first : 0;
  return { first, last: known.now === null ? first : known.now };
}

/** The batches on screen, {first, last}. */
export const viewRange = () => spanOf(moment.span, wholeRange(), currentShell() ? currentShell().times : []);

/** When they were recorded, [Unix s, Unix s], or null for the whole run and where that is one instant. */
export function viewTimes() {
  const shell = currentShell();
  if (moment.span === null || !shell || !shell.times.length) return null;
  return timesOf(shell.times, viewRange());
}

/** When the whole run was recorded, while frozen up to there, [Unix s, Unix s] with room for a mark at both
    ends; null where that is one instant. */
export function wholeTimes() {
  const shell = currentShell();
  const { first, last } = wholeRange();
  const times = shell && shell.times.length ? timesOf(shell.times, { first, last: currentMode() === "frozen" ? Number(moment.at) : last }) : null;
  return times && [times[0] - ROOM * (times[1] - times[0]), times[1] + ROOM * (times[1] - times[0])];
}
