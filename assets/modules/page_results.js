/* The Results page: register, pause, resume and remove queries by requests to /api/v1.

   The engine's answer is drawn by the server with the list of requests; here stands only what the
   request itself came back with. */
import { apiError, callApi, followCommand } from "./api.js";
import { announce, byId, setText } from "./core.js";
import { known, refresh } from "./moment.js";

const WORDS = { pause: "Pause", resume: "Resume", remove: "Remove" };

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/; // dashboard/api/changing.py

const say = (text) => {
  setText("pw-query-said", text);
  announce(text);
};

async function request(method, path, body, words, done) {
  const run = known.run;
  if (!run) return;
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
    const applied = command.state === "applied";
    say(applied ? `${words}: applied at batch ${command.applied_batch}.` : `${words}: refused.`);
  });
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "pw-query-form") return;
  event.preventDefault();
  const name = byId("pw-query-name").value.trim();
  const text = byId("pw-query-text").value.trim();
  if (!NAME.test(name)) say(`The name '${name}' is refused: allowed are a letter or _, then up to 63 letters, digits, _ . and -.`);
  else if (!text) say("Write the query first: Select * From … Where …");
  else request("POST", "", { name, text }, `Register ${name}`);
});

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-query-action]");
  if (!button || button.disabled) return;
  const { queryAction: action, query: name } = button.dataset;
  const path = "/" + encodeURIComponent(name) + (action === "remove" ? "" : "/" + action);
  request(action === "remove" ? "DELETE" : "POST", path, undefined, `${WORDS[action]} ${name}`);
});
