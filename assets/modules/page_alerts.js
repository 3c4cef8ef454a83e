/* Alert rules: the badge in the header of every page, and the form for a new rule, a Dash component.

   AlertForm: choices [[words, entity, property], ...], disabled (why no rule can be made, or ''). */
import { callApi } from "./api.js";
import { choiceOf, exampleOf } from "./choices.js";
import { announce, byId, emit, on, setAttr, setText } from "./core.js";
import { currentMode, known, shownBatch } from "./moment.js";
import { note } from "./notes.js";
import { h, useState } from "./react.js";

const EVERY_MS = 3000;
let asked = -EVERY_MS;
let told = "";

/* The rules that hold, in the header. */
async function look() {
  if (!known.run || document.hidden) return;
  asked = performance.now();
  const at = currentMode() === "live" || shownBatch() === null ? "" : `?at=${shownBatch()}`;
  const answer = await callApi("GET", `/runs/${encodeURIComponent(known.run)}/alerts${at}`);
  if (!answer.ok) return;
  emit("alerts", answer.body);
  const firing = answer.body.filter((one) => one.fires);
  const badge = byId("pw-alert-count");
  if (!badge) return;
  const words = `${firing.length} alert${firing.length === 1 ? "" : "s"}`;
  badge.hidden = firing.length === 0;
  setText(badge, words);
  setAttr(badge, "title", firing.map((one) => `${one.rule.name}: ${one.whose} ${one.rule.property} ${one.rule.relation} ${one.rule.threshold}`).join("\n"));
  const names = firing.map((one) => one.rule.name).join(", ");
  if (names && names !== told) announce(`Alert: ${names}`);
  told = names;
}

on("noted", () => window.setTimeout(look, 300));
on("shell", look);
on("moment", ({ before }) => before && look());
on("values", () => performance.now() - asked > EVERY_MS && look());

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[data-pw-silence]");
  if (!(button instanceof HTMLButtonElement) || button.disabled) return;
  const [name, seconds] = [button.dataset.pwSilence, Number(button.dataset.seconds)];
  note("alert", `silence of ${name}`, { silence: name, seconds }, seconds ? `${name} is silent for an hour` : `${name} may fire again`);
});

const RELATIONS = [">", ">=", "<", "<="];

const number = (text) => (text.trim() === "" ? NaN : Number(text.replace(",", ".")));

export function AlertForm({ choices, disabled }) {
  const empty = { what: "", relation: ">", threshold: "", lasting: "", name: "", webhook: false };
  const [draft, setDraft] = useState(empty);
  const [why, setWhy] = useState("");
  const put = (changes) => {
    setWhy("");
    setDraft((last) => ({ ...last, ...changes }));
  };
  const submit = async (event) => {
    event.preventDefault();
    const { choice, why: unknown } = choiceOf(draft.what, choices);
    const [threshold, lasting] = [number(draft.threshold), draft.lasting.trim() ? number(draft.lasting) : 0];
    if (unknown) return setWhy(unknown);
    if (!Number.isFinite(threshold)) return setWhy("Say the threshold, as a number.");
    if (!(lasting >= 0 && lasting <= 86400)) return setWhy("Say for how many seconds, 0 to 86400, or leave it empty.");
    const [words, entity, property] = choice;
    const name = draft.name.trim() || `${words.split(" (")[0]} ${draft.relation} ${threshold}`;
    const body = { entity, property, relation: draft.relation, threshold, for_s: lasting, webhook: draft.webhook };
    if (await note("alert", name, body, `Rule ${name} saved`)) put(empty);
  };
  const text = (name, label, hint, more) => h("input", { type: "text", className: "pw-input", value: draft[name], placeholder: hint, "aria-label": label, disabled: Boolean(disabled), onChange: (event) => put({ [name]: event.target.value }), ...more });
  return h(
    "form",
    { className: "pw-alert-form", onSubmit: submit, onKeyDown: (event) => event.stopPropagation(), title: disabled || undefined },
    text("what", "Number the rule is about", `number, such as ${exampleOf(choices)}`, { list: "pw-alert-choices" }),
    h("datalist", { id: "pw-alert-choices" }, choices.map(([words, entity, property]) => h("option", { key: `${entity}|${property}`, value: words }))),
    h("select", { className: "pw-input", value: draft.relation, "aria-label": "Relation", disabled: Boolean(disabled), onChange: (event) => put({ relation: event.target.value }) }, RELATIONS.map((one) => h("option", { key: one, value: one }, one))),
    text("threshold", "Threshold", "threshold", { inputMode: "decimal" }),
    text("lasting", "For how many seconds", "for so many s", { inputMode: "decimal" }),
    text("name", "Name of the rule", "name (optional)"),
    h("label", { className: "pw-check" }, h("input", { type: "checkbox", checked: draft.webhook, disabled: Boolean(disabled), onChange: (event) => put({ webhook: event.target.checked }) }), "webhook, too"),
    h("button", { type: "submit", className: "pw-button pw-primary", disabled: Boolean(disabled) }, "Add the rule"),
    h("p", { role: "alert", className: "pw-alert-why" }, disabled || why)
  );
}
