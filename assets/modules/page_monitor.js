/* The Monitor page: what is picked in the field becomes a graph, by way of the address; so does a
   graph's title. A query is registered by page_results.js. */
import { choiceOf } from "./choices.js";
import { byId, toast } from "./core.js";
import { go } from "./moment.js";
import { named, note } from "./notes.js";

const FIELD = "pw-monitor-add";

/* The graphs that are drawn, as the server understood the address, or those nobody picked. */
function drawn() {
  const list = byId("pw-monitor-choices");
  return list && list.dataset.base ? list.dataset.base.split("~") : [];
}

/** Another graph, ``entity|property``, beside those that are drawn.
    @param {string} graph */
export function addGraph(graph) {
  const graphs = drawn();
  if (!graphs.some((one) => one.split("=")[0] === graph)) graphs.push(graph);
  go({ show: graphs.join("~") });
}

/* Enter in the field: what it means becomes a graph, or why it is none is said. */
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (event.key !== "Enter" || !(field instanceof HTMLInputElement) || field.id !== FIELD) return;
  const options = [...document.querySelectorAll("#pw-monitor-choices option")];
  const choices = options.map((option) => [option.value, option.dataset.show]);
  const { choice, why } = choiceOf(field.value, choices);
  if (!choice) return toast(why, null, "error");
  field.value = "";
  addGraph(choice[1]);
});

document.addEventListener("input", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement) || field.id !== FIELD) return;
  const options = document.querySelectorAll("#pw-monitor-choices option");
  const picked = [...options].find((option) => option.value === field.value);
  if (!picked) return;
  field.value = "";
  addGraph(picked.dataset.show);
});

/* The graphs on screen under a name, for every run. */
document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-board-save]");
  if (!(button instanceof HTMLButtonElement) || button.disabled) return;
  const name = await named("Save these graphs as");
  if (name) note("board", name, { show: button.dataset.pwBoardSave }, `Saved as ${name}`);
});

/* A graph in the address with another title; see dashboard/views/monitor.py. Without a title it has
   the name of what it shows.
   @param {string} graph
   @param {string} title */
export function titled(graph, title) {
  const [head, name] = [graph.slice(0, graph.lastIndexOf("|")), graph.slice(graph.lastIndexOf("|") + 1)];
  const words = title.replace(/[~|=]/g, " ").trim();
  return `${head}|${name.split("=")[0]}${words && `=${words}`}`;
}

/* The button of a graph turns its heading into a field until Enter, Escape or another focus. */
document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-rename]");
  if (!(button instanceof HTMLElement)) return;
  const heading = button.parentElement.querySelector("h3");
  const field = document.createElement("input");
  field.className = "pw-input pw-graph-title";
  field.setAttribute("aria-label", "Title of the graph");
  field.value = heading.textContent;
  heading.hidden = true;
  heading.after(field);
  field.select();
  field.focus();
  let over = false;
  const end = (kept) => {
    if (over) return;
    over = true;
    field.remove();
    heading.hidden = false;
    const graphs = drawn();
    const place = Number(button.dataset.rename);
    if (kept && graphs[place]) go({ show: graphs.map((graph, at) => (at === place ? titled(graph, field.value) : graph)).join("~") });
    else button.focus();
  };
  field.addEventListener("keydown", (key) => {
    key.stopPropagation();
    if (key.key === "Enter") end(true);
    if (key.key === "Escape") end(false);
  });
  field.addEventListener("blur", () => end(true));
});
