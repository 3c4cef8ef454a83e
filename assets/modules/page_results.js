/* The Results page: register, pause, resume and remove queries by requests to /api/v1.

   The engine's answer is drawn by the server with the list of requests; here stands only what the
   request itself came back with. */
import { apiError, callApi, followCommand } from "./api.js";
import { confirmed } from "./confirm.js";
import { announce, byId, setText, toast } from "./core.js";
import { refresh, runKnown } from "./moment.js";
import { note } from "./notes.js";
import { addGraph } from "./page_monitor.js";

const WORDS = { pause: "Pause", resume: "Resume", remove: "Remove" };
const BACK = { pause: "resume", resume: "pause" };

/* Ask the engine for a change of queries and say what became of it; done(): it was asked for, applied():
   the engine did it. line: where it is said. */
async function request(method, path, body, words, { done, applied, line = byId("pw-query-said") }) {
  const run = await runKnown();
  const say = sayer(line);
  say(`${words} …`);
  const answer = await callApi(method, `/runs/${encodeURIComponent(run)}/queries${path}`, body);
  if (!answer.ok) {
    say(`Refused: ${apiError(answer)}`);
    return;
  }
  say(`${words}: requested (#${answer.body.id}), takes effect at a batch boundary.`);
  if (done) done();
  refresh(true);
  followCommand(run, answer.body.id, (command) => {
    const isDone = command.state === "applied";
    say(isDone ? `${words}: applied at batch ${command.applied_batch}.` : `${words}: refused: ${command.answer}`);
    if (isDone && applied) applied();
  });
}

const sayer = (line) => (text) => {
  setText(line, text);
  announce(text);
};

/* Register the query of a form whose fields are called name and text, and perhaps system. */
function register(form, { asked, applied }) {
  const name = form.elements.namedItem("name").value.trim();
  const text = form.elements.namedItem("text").value.trim();
  const system = form.elements.namedItem("system")?.value || "";
  const webhook = Boolean(form.elements.namedItem("webhook")?.checked);
  const line = form.querySelector("[role=status]") || byId("pw-query-said");
  const say = sayer(line);
  if (!name) say("Give the query a name first.");
  else if (!text) say("Write the query first: Select * From … Where …");
  else request("POST", "", { name, text, system }, `Register ${name}`, { done: () => asked(form, name), applied: () => applied && applied(name, webhook), line });
}

/* What follows a request of a form, by its id, and the engine's yes. */
const FORMS = {
  "pw-query-form": { asked: (form) => form.reset() },
  "pw-monitor-query": {
    asked: (form, name) => {
      form.reset();
      addGraph(`@${name}|answer_value`);
    },
  },
  "pw-alert-query": {
    asked: (form) => form.reset(),
    applied: (name, webhook) => note("alert", name, { entity: `@${name}`, property: "answer_tuples", relation: ">", threshold: 0, webhook }, `Rule ${name} saved`),
  },
};

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form.id in FORMS)) return;
  event.preventDefault();
  register(form, FORMS[form.id]);
});

/* Removing asks first; pausing and resuming can be taken back. */
async function change(action, name) {
  const question = `Remove the query ${name}? It stops at the next batch; what it matched so far stays.`;
  if (action === "remove" && !(await confirmed(question, `Remove ${name}`))) return;
  const path = "/" + encodeURIComponent(name) + (action === "remove" ? "" : "/" + action);
  const words = `${WORDS[action]} ${name}`;
  const undo = BACK[action] && { text: "undo", act: () => change(BACK[action], name) };
  request(action === "remove" ? "DELETE" : "POST", path, undefined, words, { done: () => toast(`${words}: requested`, undo) });
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-query-action]");
  if (button && !button.disabled) change(button.dataset.queryAction, button.dataset.query);
});
