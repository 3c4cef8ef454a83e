/* A page opens on something to see: while a run is being started, a recorded one plays, and says that it
   is one; with the first batch of the started run the page goes LIVE by itself, also where its address
   names the recording: after a reload, in a new tab. Who takes the replay into their own hands, or looks at
   another run, is told instead. */
import { announce, byId, on, setAttr, setText, toast } from "./core.js";
import { askShell, go, moment } from "./moment.js";
import { isPlaying, playFrom } from "./replay.js";

const ASK_MS = 1000;
const WORDS = "Recording · the live run is starting";
let recording = ""; // id of the run that plays
let timer = null;
let first = true; // nothing was shown yet
const KEPT = "planwatch-opening"; // of this tab, over reloads: the recording that plays

const isShown = () => recording !== "" && moment.run === recording;

function begin(data) {
  recording = data.opening.recording;
  timer = window.setInterval(() => !document.hidden && askShell(), ASK_MS);
  sessionStorage.setItem(KEPT, recording);
  announce("A recording plays until the live run has its first batch.");
  playFrom(moment.at ?? data.opening.at ?? data.first, { run: recording, path: moment.path === "/" ? "/plan" : moment.path });
}

function end() {
  recording = "";
  window.clearInterval(timer);
  sessionStorage.removeItem(KEPT);
  draw();
}

const live = () => go({ run: null, at: null, node: null, unit: null, frozen: false }, true);

function arrived() {
  const stays = isShown() && isPlaying();
  end();
  if (stays) live();
  else toast("The live run has its first batch", { text: "show it", act: live }, "ok");
}

function draw() {
  const label = byId("pw-opening");
  if (!label) return;
  label.hidden = !isShown();
  setText(label, label.hidden ? "" : WORDS);
  setAttr(label, "title", label.textContent);
}

on("shell", (data) => {
  const { live: began, recording: plays } = data.opening;
  const opens = first;
  first = false;
  if (opens && began && moment.run && moment.run === sessionStorage.getItem(KEPT)) return live();
  if (recording && began) return arrived();
  if (recording && !plays) return end();
  const unasked = moment.run === null && moment.at === null;
  if (!recording && plays && (opens || unasked) && !moment.frozen && data.run && data.run.id === plays) begin(data);
  return draw();
});
on("moment", draw);
