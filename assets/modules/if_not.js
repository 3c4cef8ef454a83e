/* What if a change of the plan had not been made: a box that says whether the recorded tuples can be
   replayed with the plan of before, begins that, follows it, and shows both costs with the area between.
   A ▲ of the strip opens it; the button of a decision begins at once. */
import { apiError, callApi } from "./api.js";
import { announce, drawn, el, emit, on } from "./core.js";
import { show } from "./format.js";
import { addressOf } from "./home.js";
import { known } from "./moment.js";
import { linePoints, scale } from "./paths.js";

const LOOK_MS = 700;
const WIDTH = 372;
const HEIGHT = 92;
const GOING = ["asked", "running"];
const TOLD = ["ready", "priced"];
let box = null;
let asked = null; // {run, unit, seq} of the change that is looked at
let answer = null; // as GET /if-not has it
let timer = null;

const isIt = ({ unit, seq }) => asked !== null && asked.run === known.run && asked.unit === unit && asked.seq === seq;

/** The branch that keeps the plan, as the strip draws it beside the run: [batch, visits per tuple].
    @returns {[number, number][]} */
export const otherFuture = () => (answer && asked.run === known.run ? answer.visits : []);

/** How far the replay of a change is, 0 to 1; null where there is none.
    @param {{unit: string, seq: number}} change */
export const ringOf = (change) => (answer && isIt(change) && GOING.includes(answer.state) ? answer.progress : null);

/** Look at a change, and begin to replay it where that can be.
    @param {{unit: string, seq: number}} change
    @param {boolean} begins */
export async function tryIfNot({ unit, seq }, begins) {
  asked = { run: known.run, unit, seq };
  answer = null;
  await look();
  if (begins && answer && answer.state === "offered" && answer.ask) await begin();
}

const path = () => `/runs/${encodeURIComponent(asked.run)}`;

async function look() {
  window.clearTimeout(timer);
  const of = asked;
  const got = await callApi("GET", `${path()}/if-not?${new URLSearchParams({ unit: of.unit, decision: of.seq })}`);
  if (asked !== of) return;
  const before = answer && answer.state;
  answer = got.ok ? got.body : { state: "impossible", title: "", words: [apiError(got)], visits: [], recorded: [], kept: [], progress: 0 };
  if (before !== answer.state) announce(answer.words.join(" "));
  draw();
  if (GOING.includes(answer.state)) timer = window.setTimeout(look, LOOK_MS);
}

async function begin() {
  const of = asked;
  const got = await callApi("POST", `${path()}/branches`, answer.ask);
  if (asked !== of) return;
  if (got.ok) await look();
  else {
    answer = { ...answer, state: "failed", words: [apiError(got)] };
    draw();
  }
}

function close() {
  window.clearTimeout(timer);
  [asked, answer] = [null, null];
  draw();
}

function draw() {
  if (box) box.remove();
  box = answer && build();
  if (box) document.body.append(box);
  emit("ifnot", answer);
}

function build() {
  const { state, title, words, line, ask, compare } = answer;
  const going = GOING.includes(state);
  const button = ask && (state === "offered" || state === "failed") ? el("button", { type: "button", class: "pw-button pw-primary", id: "pw-ifnot-begin", onclick: begin }, state === "failed" ? "Try again" : "What if it had not?") : null;
  const href = state === "ready" && addressOf("/compare") + `?${new URLSearchParams({ run: asked.run, show: compare })}`;
  return el(
    "section",
    { class: "pw-ifnot", id: "pw-ifnot", "data-state": state, "aria-label": "What if it had not?" },
    el("button", { type: "button", class: "pw-toast-close", "aria-label": "Close", title: "Close (Esc)", onclick: close }, "×"),
    el("h2", {}, going ? ring() : null, "What if it had not?"),
    el("p", { class: "pw-dim" }, title),
    ...words.map((text, place) => el("p", { class: TOLD.includes(state) && !place ? "pw-ifnot-said" : "" }, text)),
    TOLD.includes(state) ? lines() : null,
    !button && line && ["offered", "failed"].includes(state) ? el("code", { class: "pw-ifnot-line-typed" }, line) : null,
    button,
    href ? el("a", { class: "pw-link", href, "data-pw-path": "/compare", "data-pw-show": compare }, "Compare both runs") : null
  );
}

const ring = () => el("i", { class: "pw-ifnot-ring", role: "progressbar", "aria-valuenow": (100 * answer.progress).toFixed(0), "aria-label": "Replayed", style: `--pw-ring:${(100 * answer.progress).toFixed(0)}%` });

/* Both costs a batch; behind the last batch with the plan of the decision other changes are in them. */
function lines() {
  const { recorded, kept, unit, last } = answer;
  const all = [...recorded, ...kept];
  if (recorded.length < 2 || kept.length < 2) return null;
  const ends = [Math.min(...all.map(([batch]) => batch)), Math.max(...all.map(([batch]) => batch))];
  const top = Math.max(...all.map((point) => point[1])) || 1;
  const x = scale(ends, [1, WIDTH - 1]);
  const y = scale([0, top], [HEIGHT - 2, 4]);
  const svg = drawn(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${unit} a batch, as recorded and with the plan before kept` },
    drawn("polygon", { class: "pw-ifnot-area", points: linePoints([...kept, ...recorded.slice().reverse()], x, y) }),
    drawn("polyline", { class: "pw-line", points: linePoints(recorded, x, y) }),
    drawn("polyline", { class: "pw-ifnot-line", points: linePoints(kept, x, y) }),
    drawn("polyline", { class: "pw-ifnot-next", points: last < ends[1] ? `${x(last)},0 ${x(last)},${HEIGHT}` : "" })
  );
  const legend = [el("span", { class: "pw-ifnot-key" }, "as recorded"), el("span", { class: "pw-ifnot-key", "data-kept": "1" }, "plan before kept")];
  const scaled = `${unit} a batch, 0 to ${show(top, "si")} · batches ${ends[0]} to ${ends[1]}`;
  return el("figure", {}, svg, el("figcaption", {}, ...legend, el("span", { class: "pw-dim" }, scaled)));
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-pw-if-not]");
  if (button) tryIfNot({ unit: button.dataset.pwIfNot, seq: Number(button.dataset.pwSeq) }, true);
});

document.addEventListener("keydown", (event) => event.key === "Escape" && box && close());
on("shell", () => asked && asked.run !== known.run && close());
