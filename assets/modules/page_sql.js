/* The SQL page: the query goes into the address, and the server answers it. While one types, names of
   tables and columns that begin so are offered: Tab takes the first, Escape puts them away. */
import { byId, el, emit, on, setText } from "./core.js";
import { go, moment } from "./moment.js";
import { named, note } from "./notes.js";

const FORM = "pw-sql-form";

function run() {
  const text = byId("pw-sql-text").value.trim();
  if (!text) setText("pw-sql-said", "Write a query first.");
  else if (!go({ show: text })) emit("noted"); // the same again
}

/* The field follows the address: a saved query, or the records behind a panel. */
on("moment", () => {
  const box = moment.path === "/sql" && byId("pw-sql-text");
  if (box && moment.show) box.value = moment.show;
  setText("pw-sql-said", "");
});

const KEYWORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "AVG(", "COUNT(*)", "MAX(", "SUM("];
const MOST_HINTS = 8;
const LEAST = 2; // letters before anything is offered

/* Put a text where the cursor is, in place of so many letters before it. */
function put(text, before = 0) {
  const box = byId("pw-sql-text");
  const { selectionStart: start, selectionEnd: end, value } = box;
  const apart = before || start === 0 || /[\s.(,]/.test(value[start - 1]) ? "" : " ";
  box.setRangeText(apart + text, start - before, end, "end");
  box.focus();
  offer([]);
}

const begun = (box) => /[A-Za-z_]\w*$/.exec(box.value.slice(0, box.selectionStart))?.[0] || "";

function hintsFor(word) {
  if (word.length < LEAST) return [];
  const names = [...document.querySelectorAll("[data-pw-sql-name]")].map((button) => button.dataset.pwSqlName);
  const like = (name) => name.toLowerCase().startsWith(word.toLowerCase()) && name.toLowerCase() !== word.toLowerCase();
  return [...new Set([...names, ...KEYWORDS])].filter(like).slice(0, MOST_HINTS);
}

function offer(hints, word = "") {
  const place = byId("pw-sql-hints");
  place.hidden = hints.length === 0;
  place.replaceChildren(...hints.map((name) => el("button", { type: "button", class: "pw-chip-link", onclick: () => put(name, word.length) }, name)));
}

document.addEventListener("input", ({ target }) => {
  if (target.id !== "pw-sql-text") return;
  const word = begun(target);
  offer(hintsFor(word), word);
});

document.addEventListener("keydown", (event) => {
  const [first] = event.target.id === "pw-sql-text" ? byId("pw-sql-hints").children : [];
  if (!first || (event.key !== "Tab" && event.key !== "Escape") || event.shiftKey) return;
  event.preventDefault();
  if (event.key === "Tab") first.click();
  else offer([]);
});

document.addEventListener("click", ({ target }) => {
  const name = target instanceof Element && target.closest("[data-pw-sql-name]");
  if (name) put(name.dataset.pwSqlName);
});

document.addEventListener("submit", (event) => {
  if (event.target.id !== FORM) return;
  event.preventDefault();
  run();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.target.id !== "pw-sql-text") return;
  event.preventDefault();
  run();
});

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-sql-save]");
  if (!button || button.disabled) return;
  const text = byId("pw-sql-text").value.trim();
  if (!text) return setText("pw-sql-said", "Write a query first.");
  const name = await named("Save this query as");
  if (name) note("sql", name, { text }, `Saved as ${name}`);
});
