/* The range of batches on screen, everywhere the same: the address's span over what is recorded. */
import { currentShell } from "./header.js";
import { known, moment } from "./moment.js";
import { spanOf, timesOf } from "./times.js";

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
