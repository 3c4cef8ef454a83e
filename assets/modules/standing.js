/* How a run stands, in one word, as dashboard/views/standing.py tells it. Pure. */
import { age, show } from "./format.js";

const SILENT_S = 10;
const SLOW_START_S = 60;
const LATE_PERIODS = 3;
const OVERDUE_PERIODS = 10;
const LATE_S = 3;
const WAITS = "waits for input";
const NO_MORE = "no more input";

/** Words of runs whose engine lives. */
export const ALIVE = ["starting", "running", "working", "idle", "paused"];

/** Seconds and tuples are null where they are unknown.
    @param {{state: string, batch: number | null, age_s: number | null, beat_age_s: number | null, backlog: number | null, period_s: number, held?: string, note?: string, over?: boolean}} run
    @returns {{word: string, words: string, level: string}} */
export function standing({ state, batch, age_s, beat_age_s, backlog, period_s, held, note, over }) {
  const doing = note === WAITS ? "" : note;
  const signs = [age_s, beat_age_s].filter((seconds) => seconds !== null);
  const silence = signs.length ? Math.min(...signs) : 0;
  if (state !== "starting" && state !== "running") return { word: state, words: signs.length ? `${state} ${age(silence)} ago` : state, level: "quiet" };
  const period = Math.max(0.2, period_s);
  const patience = state === "starting" ? SLOW_START_S : SILENT_S;
  if (silence > Math.max(patience, OVERDUE_PERIODS * period)) return { word: "stopped", words: `ENGINE STOPPED · no sign of life for ${age(silence)}${doing ? `, the last was: ${doing}` : ""}`, level: "red" };
  if (held) return { word: "paused", words: `paused ${held}`, level: "amber" };
  if (state === "starting" || batch === null || age_s === null) return { word: state, words: `${doing ? `${doing}, ` : ""}waits for the first batch`, level: "quiet" };
  if (age_s <= Math.max(LATE_S, LATE_PERIODS * period)) return { word: "running", words: `data ${age(age_s)} old`, level: "ok" };
  if (backlog === 0) return { word: "idle", words: `${over ? NO_MORE : doing || WAITS}, data ${age(age_s)} old`, level: "ok" };
  const words = (backlog === null ? `no batch for ${age(age_s)}` : `batch ${show(batch + 1, "int")} running ${age(age_s)}`) + (doing ? ` · ${doing}` : "");
  return { word: "working", words, level: age_s > OVERDUE_PERIODS * period ? "amber" : "ok" };
}
