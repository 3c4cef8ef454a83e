/* The keyboard: one key, one action; 'g' starts a jump to a page. Typing in a field is left alone. */
import { copyPermalink, toggleHelp } from "./actions.js";
import { byId, emit } from "./core.js";
import { openWords } from "./glossary.js";
import { go, moment } from "./moment.js";
import { changeSpeed, holdOrGoOn, step } from "./pace.js";
import { isPointed } from "./pointed.js";
import { playOrFreeze } from "./replay.js";
import { openSearch } from "./search.js";
import { isOnStage, toggleStage } from "./stage.js";
import { stepAdaptation, stepBatch } from "./strip.js";
import { toggleTwins } from "./twins.js";

const JUMP_MS = 1200;
let jump = 0;

const typing = (target) =>
  target instanceof Element && Boolean(target.closest("input:not([type=range]), textarea, select, [contenteditable]"));
function pressing(target) {
  const pressed = target instanceof Element && target.closest("button, summary, [role=button]");
  return Boolean(pressed) && (pressed.matches("button, summary") || !isPointed(pressed));
}

const KEYS = {
  "?": () => toggleHelp(),
  h: () => holdOrGoOn(),
  n: () => step("batch"),
  d: () => step("decision"),
  "<": () => changeSpeed(0.5),
  ">": () => changeSpeed(2),
  s: () => toggleStage(),
  t: () => toggleTwins(),
  w: () => openWords(),
  f: () => emit("fit"),
  y: () => copyPermalink(),
  "/": () => openSearch(),
  ".": () => go({ at: null }),
  "[": () => emit("heat", -1),
  "]": () => emit("heat", 1),
  Escape: () => {
    emit("hits", []);
    if (isOnStage()) toggleStage();
    else if (moment.node) go({ node: null });
  },
};

function page(letter) {
  const link = document.querySelector(`.pw-nav-link[data-key="${CSS.escape(letter)}"]`);
  if (link && !link.hidden) go({ path: link.dataset.pwPath });
  return Boolean(link);
}

function arrow(event) {
  const way = event.key === "ArrowLeft" ? -1 : 1;
  if (event.shiftKey) stepBatch(way);
  else stepAdaptation(way);
}

function handle(event) {
  if (performance.now() < jump && event.key.length === 1) {
    jump = 0;
    return page(event.key);
  }
  if (event.key === "g") {
    jump = performance.now() + JUMP_MS;
    return true;
  }
  if (event.key === " ") {
    if (pressing(event.target)) return false; // space presses what has the focus
    playOrFreeze();
    return true;
  }
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    arrow(event);
    return true;
  }
  if (!KEYS[event.key]) return false;
  KEYS[event.key]();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const dialog = document.querySelector("dialog[open]");
  if (typing(event.target) || (dialog && !(dialog === byId("pw-help") && event.key === "?"))) return;
  if (event.target instanceof Element && event.target.closest("[role=toolbar], .js-plotly-plot")) {
    if (event.key.startsWith("Arrow")) return; // they have arrows of their own
  }
  if (handle(event)) event.preventDefault();
});
