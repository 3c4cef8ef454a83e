/* The SQL page: the query goes into the address, and the server answers it. */
import { byId, emit, on, setText } from "./core.js";
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
