/* Words of the glossary, underlined with dots where the page first says them: a click shows what is meant,
   w all words of the page. The text is docs/glossary.md, asked once a run. What Dash drew is not
   touched: the browser paints the ranges of text (CSS.highlights). */
import { callApi } from "./api.js";
import { announce, byId, el, on, onEscape, openDialog, placeBy } from "./core.js";
import { known } from "./moment.js";

/* Where words are underlined, and within what each is only once. */
const SPOKEN = ".pw-about, .pw-headline p, .pw-panel-title, .pw-panel-note, .pw-legend-item, .pw-panel-body > p";
const PLACE = ".pw-panel, .pw-headline, .pw-about";
const NOT_IN = "a, button, summary, svg, .pw-term, [role=button]";
const LOOK_MS = 1500; // so often at most the page is gone through
const SHORTEST = 3; // Latin letters: shorter ones are words of every sentence

let words = []; // {words, text, part} of the run
let entries = new Map(); // form of a word -> entry
let forms = null; // what finds them
let ranges = []; // {range, entry}
let asked = null;
let timer = null;
let box = null;
let cameFrom = null;

const formsOf = (word) => (word.length > 1 ? [word, `${word}s`, word.replace(/y$/, "ies"), word.replace(/is$/, "es")] : [word]);
const isLong = (word) => /[^\x00-\x7f]/.test(word) || word.length >= SHORTEST;

async function read(run) {
  asked = run;
  const answer = await callApi("GET", `/runs/${encodeURIComponent(run)}/glossary`);
  if (!answer.ok || asked !== run) return;
  words = answer.body;
  entries = new Map();
  for (const entry of words)
    for (const word of entry.words.filter(isLong)) for (const form of formsOf(word.toLowerCase())) if (!entries.has(form)) entries.set(form, entry);
  const longest = [...entries.keys()].sort((a, b) => b.length - a.length).map((form) => RegExp.escape?.(form) ?? form.replace(/[^\p{L}\p{N}\s]/gu, "\\$&"));
  forms = new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${longest.join("|")})(?![\\p{L}\\p{N}_-])`, "giu");
  mark();
}

/** What is meant by words of the page, ''.
    @param {string} text */
export const meaningOf = (text) => entries.get(text.trim().toLowerCase())?.text || "";

/* The first of each word in each place. */
function mark() {
  timer = null;
  if (!CSS.highlights || !forms) return;
  ranges = [];
  const said = new Map();
  for (const spoken of document.querySelectorAll(SPOKEN)) {
    if (!spoken.checkVisibility()) continue;
    const place = spoken.closest(PLACE) || spoken;
    if (!said.has(place)) said.set(place, new Set());
    const walk = document.createTreeWalker(spoken, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(NOT_IN)) markIn(walk.currentNode, said.get(place));
  }
  CSS.highlights.set("pw-hard", new Highlight(...ranges.map((one) => one.range)));
}

function markIn(node, said) {
  for (const { 0: form, index } of node.data.matchAll(forms)) {
    const entry = entries.get(form.normalize("NFKC").toLowerCase()); // µ is μ
    if (said.has(entry)) continue;
    said.add(entry);
    const range = new Range();
    range.setStart(node, index);
    range.setEnd(node, index + form.length);
    ranges.push({ range, entry });
  }
}

/* The underlined word at a point of the window. */
function at(x, y) {
  const lies = (rect) => x >= rect.left && x <= rect.right && y >= rect.top && y <= rect.bottom;
  return ranges.find(({ range }) => [...range.getClientRects()].some(lies));
}

function hide() {
  if (!box) return false;
  box.remove();
  box = null;
  if (cameFrom && cameFrom.isConnected) cameFrom.focus({ preventScroll: true });
  return true;
}

function show({ range, entry }) {
  hide();
  cameFrom = document.activeElement;
  const more = el("button", { type: "button", class: "pw-go", onclick: openWords }, "All words of this page (w)");
  box = el("div", { class: "pw-term-tip pw-word", role: "note", tabindex: "-1", "aria-label": entry.words[0] }, el("span", {}, entry.text), more);
  document.body.append(box);
  placeBy(box, range.getBoundingClientRect());
  box.focus({ preventScroll: true });
  announce(entry.text);
}

const item = ({ words: own, text }) => [el("dt", {}, own.join(", ")), el("dd", {}, text.startsWith(`${own[0]} — `) ? text.slice(own[0].length + 3) : text)];

/* Those of the page first, then the others by the parts of the glossary. */
function list() {
  mark();
  const here = [...new Set(ranges.map((one) => one.entry))];
  const parts = Map.groupBy(words.filter((entry) => !here.includes(entry)), (entry) => entry.part);
  const heads = here.length ? [["On this page", here], ...parts] : [...parts];
  return heads.flatMap(([part, own]) => [el("h3", {}, part), el("dl", {}, own.flatMap(item))]);
}

/** Open the glossary, the words of the page first. */
export function openWords() {
  hide();
  byId("pw-words-list").replaceChildren(...list());
  openDialog(byId("pw-words"));
}

const soon = () => (timer = timer || window.setTimeout(mark, LOOK_MS));

on("shell", () => known.run && known.run !== asked && read(known.run));
for (const event of ["moment", "painted"]) on(event, soon);
new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });

document.addEventListener("click", (event) => {
  if (box && box.contains(event.target)) return;
  const own = event.target instanceof Element && event.target.closest(SPOKEN);
  const hit = own && !event.target.closest(NOT_IN) && at(event.clientX, event.clientY);
  if (hit) show(hit);
  else hide();
  if (event.target.id === "pw-words-open") {
    byId("pw-help").close();
    openWords();
  }
  if (event.target.id === "pw-words-close" || event.target.id === "pw-words") byId("pw-words").close();
});
document.addEventListener("pointermove", ({ target, clientX, clientY }) => {
  const own = target instanceof Element && target.closest(SPOKEN);
  if (own) own.style.cursor = at(clientX, clientY) ? "help" : "";
});
onEscape(hide);
