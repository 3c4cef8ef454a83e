/* The time of day by the clock of the run's engine, as the server told it with its last answer.

   The browser's own clock may say anything, and the engine's may be on a third machine: what a record says
   of when it was made is compared with this time alone. Between two answers it goes on evenly. */
const ADRIFT_S = 2; // so much later than others may an answer come, or differ from them
let ahead = { run: "", by: 0 };

/** Take the time of an answer: the earliest to arrive is nearest to the truth; one that is far behind is of
    a clock that was set back, or of another run's engine.
    @param {string} run
    @param {number | null} time when the answer was made (Unix s)
    @param {number} [at] s of a clock that goes evenly */
export function hearTime(run, time, at = performance.now() / 1000) {
  if (typeof time !== "number") return;
  const by = time - at;
  if (ahead.run !== run || by > ahead.by || by < ahead.by - ADRIFT_S) ahead = { run, by };
}

/** Unix seconds; before the first answer long ago, when nothing is old.
    @param {number} [at] s of a clock that goes evenly
    @returns {number} */
export const engineTime = (at = performance.now() / 1000) => at + ahead.by;
