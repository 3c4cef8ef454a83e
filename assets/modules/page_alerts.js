/* Alert rules: the badge in the header of every page, and the form for a new rule, a Dash component.

   AlertForm: choices [[words, entity, property], ...], disabled (why no rule can be made, or ''). */
import { callApi } from "./api.js";
import { announce, byId, on, setAttr, setText } from "./core.js";
import { currentMode, known, shownBatch } from "./moment.js";
import { note } from "./notes.js";
import { h, useState } from "./react.js";

const EVERY_MS = 3000;
let asked = -EVERY_MS;
let hasRules = true;
let told = "";

/* The rules that hold, in the header; a run without rules is asked once. */
async function look() {
  if (!known.run || document.hidden) return;
  asked = performance.now();
  const at = currentMode() === "live" || shownBatch() === null ? "" : `?at=${shownBatch()}`;
  const answer = await callApi("GET", `/runs/${encodeURIComponent(known.run)}/alerts${at}`);
  if (!answer.ok) return;
  hasRules = answer.body.length > 0;
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

on("noted", () => {
  hasRules = true;
  window.setTimeout(look, 300);
});
on("shell", look);
on("moment", ({ before }) => hasRules && before && look());
on("values", () => hasRules && performance.now() - asked > EVERY_MS && look());

const RELATIONS = [">", ">=", "<", "<="];

export function AlertForm({ choices, disabled }) {
  const [draft, setDraft] = useState({ what: "", relation: ">", threshold: "", name: "", webhook: false });
  const put = (changes) => setDraft((last) => ({ ...last, ...changes }));
  const picked = choices.find(([words]) => words === draft.what);
  const threshold = Number(draft.threshold.replace(",", "."));
  const ready = picked && draft.threshold.trim() !== "" && Number.isFinite(threshold) && !disabled;
  const submit = async (event) => {
    event.preventDefault();
    if (!ready) return;
    const [, entity, property] = picked;
    const name = draft.name.trim() || `${picked[0].split(" (")[0]} ${draft.relation} ${threshold}`;
    const body = { entity, property, relation: draft.relation, threshold, webhook: draft.webhook };
    if (await note("alert", name, body, `Rule ${name} saved`)) put({ what: "", threshold: "", name: "" });
  };
  const text = (name, label, hint, more) => h("input", { type: "text", className: "pw-input", value: draft[name], placeholder: hint, "aria-label": label, disabled: Boolean(disabled), onChange: (event) => put({ [name]: event.target.value }), ...more });
  return h(
    "form",
    { className: "pw-alert-form", onSubmit: submit, onKeyDown: (event) => event.stopPropagation(), title: disabled || undefined },
    text("what", "Number the rule is about", "number, such as Engine · Batch time", { list: "pw-alert-choices" }),
    h("datalist", { id: "pw-alert-choices" }, choices.map(([words, entity, property]) => h("option", { key: `${entity}|${property}`, value: words }))),
    h("select", { className: "pw-input", value: draft.relation, "aria-label": "Relation", disabled: Boolean(disabled), onChange: (event) => put({ relation: event.target.value }) }, RELATIONS.map((one) => h("option", { key: one, value: one }, one))),
    text("threshold", "Threshold", "threshold", { inputMode: "decimal" }),
    text("name", "Name of the rule", "name (optional)"),
    h("label", { className: "pw-check" }, h("input", { type: "checkbox", checked: draft.webhook, disabled: Boolean(disabled), onChange: (event) => put({ webhook: event.target.checked }) }), "webhook, too"),
    h("button", { type: "submit", className: "pw-button pw-primary", disabled: !ready }, "Add the rule")
  );
}
