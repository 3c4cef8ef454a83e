/* The batch on screen, as against the one the page was told to show: header and strip name the first,
   so that they and the page below never speak of two moments. Whoever moves the moment step by step
   (replay, a hand on the strip, a held key) waits here: one request at a time, the newest wish wins. */
import { byId, emit, on, setAttr } from "./core.js";
import { go, known, moment, shownBatch } from "./moment.js";
import { busy, settled } from "./settled.js";

const SLOW_MS = 200; // shorter waits are not worth a word
let painted = null;
let loading = false;
let slow = false;
let turn = 0;
let wish = null; // {at, replace}: where to go next
let sent = null; // the wish that was sent and has not become the moment yet

/** The batch the page shows. */
export const paintedBatch = () => (loading && painted !== null ? painted : shownBatch());

/** Whether the page is on its way to another moment: asked for, or not drawn yet. */
export const isPainting = () => loading || sent !== null || busy();

/** The batch the page has been waiting for long enough to say so, or null. */
export const awaitedBatch = () => (slow ? shownBatch() : null);

/** Where the moment is, or is about to be. */
export const aim = () => (wish || sent || { at: shownBatch() }).at;

/** Show a batch; what was frozen stays frozen. While another one is being painted, the wish waits. */
export function seek(at, replace) {
  wish = { at, replace };
  if (!loading && !sent) follow();
}

function follow() {
  if (wish === null) return;
  const { at, replace } = wish;
  sent = go({ at, frozen: moment.frozen }, replace) ? wish : null;
  wish = null;
}

function tell() {
  setAttr(byId("pw-shell"), "data-painting", loading ? "1" : "0");
  emit("painting");
}

on("moment", async ({ before }) => {
  if (!sent) wish = null;
  sent = null;
  if (before.path === moment.path && before.run === moment.run && before.at === moment.at && painted !== null) return;
  if (before.run !== moment.run) painted = null;
  else if (!loading) painted = before.at === null ? known.now : before.at;
  loading = true;
  turn += 1;
  const mine = turn;
  const timer = window.setTimeout(() => {
    if (mine !== turn || !loading) return;
    slow = true;
    tell();
  }, SLOW_MS);
  tell();
  await settled();
  window.clearTimeout(timer);
  if (mine !== turn) return;
  loading = false;
  slow = false;
  painted = shownBatch();
  tell();
  follow();
});
