/* The search of everything, key /: pages, runs, parts of the plan, queries, knobs, plans, decisions. */
import { callApi } from "./api.js";
import { byId, el, emit } from "./core.js";
import { currentShell } from "./header.js";
import { go, known } from "./moment.js";

const MOST = 12;

/** Entries whose words hold all words of the text; those that begin with it first.
    @template {{words: string, kind: string}} E
    @param {E[]} entries
    @param {string} text
    @returns {E[]} */
export function matching(entries, text) {
  const [first] = wantedOf(text);
  const begins = ({ words }) => (first && words.toLowerCase().startsWith(first) ? 0 : 1);
  return holding(entries, text).sort((a, b) => begins(a) - begins(b)).slice(0, MOST);
}

const wantedOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

/* All entries that hold all words of the text. */
function holding(entries, text) {
  const wanted = wantedOf(text);
  return entries.filter(({ words, kind }) => wanted.every((word) => `${words} ${kind}`.toLowerCase().includes(word)));
}

/** Nodes of the plan among the entries that hold a text, none without one: the graph lights them up.
    @param {{words: string, kind: string, to?: any}[]} entries
    @param {string} text */
export const hitsOf = (entries, text) => (wantedOf(text).length ? holding(entries, text) : []).flatMap(({ to }) => (to && to.node ? [to.node] : []));

const pages = () => [...document.querySelectorAll(".pw-nav-link")].map((link) => ({ words: link.textContent.trim(), kind: "page", to: { path: link.dataset.pwPath } }));

function ofShell(shell) {
  const runs = shell.runs.map((run) => ({ words: run.label, kind: `run, ${run.state}`, to: { path: "/plan", run: run.id } }));
  const plans = shell.plans.map((plan) => ({ words: `Plan ${plan.version}`, kind: `since batch ${plan.batch}`, to: { path: "/plan", at: Math.max(0, plan.batch) } }));
  return [...runs, ...plans.reverse()];
}

async function ofRun(run) {
  const found = await callApi("GET", `/runs/${encodeURIComponent(run)}/places`);
  const given = (place) => Object.fromEntries(["path", "node", "at", "unit"].filter((name) => place[name] !== null).map((name) => [name, place[name]]));
  return (found.ok ? found.body : []).map((place) => ({ words: place.words, kind: place.kind, to: given(place) }));
}

/* Evaluations that changed nothing are found by their number. */
const numbered = (text) => [...text.matchAll(/^\s*#(\d+)\s*$/g)].map(([, number]) => ({ words: `#${number}`, kind: "decision", to: { path: "/decisions", node: number } }));

function row(entry, place, pick) {
  const button = el("button", { type: "button", class: "pw-found", role: "option", id: `pw-found-${place}`, tabindex: -1 }, el("b", {}, entry.words), el("span", {}, entry.kind));
  button.addEventListener("click", () => pick(entry));
  return button;
}

/* The field, what is found, and the dialog around both. */
function opened() {
  const input = el("input", { type: "text", class: "pw-input", role: "combobox", "aria-label": "Search", "aria-controls": "pw-founds", "aria-expanded": "true", placeholder: "page, run, part of the plan, query, knob, plan, decision" });
  const list = el("div", { id: "pw-founds", role: "listbox", "aria-label": "Found" });
  const box = el("dialog", { id: "pw-search", class: "pw-help pw-search", "aria-label": "Search" }, input, list);
  box.addEventListener("click", (event) => event.target === box && box.close());
  return { input, list, box };
}

/* Closed without a choice, nothing stays lit. */
function leave({ target }) {
  target.remove();
  emit("hits", []);
}

/** Open the search, unless it is open. */
export async function openSearch() {
  if (byId("pw-search")) return;
  const { input, list, box } = opened();
  const shell = currentShell();
  let entries = [...pages(), ...(shell ? ofShell(shell) : [])];
  let shown = [];
  let here = 0;
  const pick = (entry) => {
    box.removeEventListener("close", leave); // what was found stays lit
    box.close();
    box.remove(); // its event comes later: the key / may come before
    go(entry.to);
  };
  const mark = (place) => {
    here = Math.max(0, Math.min(shown.length - 1, place));
    for (const [i, one] of [...list.children].entries()) one.setAttribute("aria-selected", i === here ? "true" : "false");
    input.setAttribute("aria-activedescendant", `pw-found-${here}`);
  };
  const draw = () => {
    shown = [...numbered(input.value), ...matching(entries, input.value)].slice(0, MOST);
    list.replaceChildren(...(shown.length ? shown.map((entry, i) => row(entry, i, pick)) : [el("p", { class: "pw-dim" }, "Nothing is called that.")]));
    mark(0);
    emit("hits", hitsOf(entries, input.value));
  };
  input.addEventListener("input", draw);
  input.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (way) mark(here + way);
    else if (event.key === "Enter" && shown[here]) pick(shown[here]);
    else return;
    event.preventDefault();
  });
  box.addEventListener("close", leave);
  document.body.append(box);
  box.showModal();
  draw();
  if (known.run) entries = [...entries, ...(await ofRun(known.run))];
  draw();
}
