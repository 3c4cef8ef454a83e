/* What people write down: notes, saved queries, sets of knob values, alert rules (dashboard/api/noting.py). */
import { apiError, callApi } from "./api.js";
import { confirmed } from "./confirm.js";
import { el, emit, toast } from "./core.js";
import { runKnown, shownBatch } from "./moment.js";

const path = async () => `/runs/${encodeURIComponent(await runKnown())}/notes`;

function told(answer, words) {
  toast(answer.ok ? words : `Refused: ${apiError(answer)}`, null, answer.ok ? "ok" : "error");
  if (answer.ok) emit("noted");
  return answer.ok;
}

/** Write something down (kinds: dashboard/api/noting.py); whether that was done. */
export async function note(kind, name, body, words) {
  return told(await callApi("POST", await path(), { kind, name, body }), words);
}

/** Ask for a name; resolves to it, or to null. */
export function named(question) {
  return new Promise((resolve) => {
    const input = el("input", { type: "text", class: "pw-input", "aria-label": question, maxlength: 200, required: "" });
    const keep = el("button", { type: "submit", class: "pw-button pw-primary" }, "Save");
    const no = el("button", { type: "button", class: "pw-button" }, "Cancel");
    const form = el("form", {}, el("p", {}, question), input, el("div", { class: "pw-confirm-row" }, no, keep));
    const box = el("dialog", { class: "pw-help pw-confirm", "aria-label": question }, form);
    const close = (answer) => {
      resolve(answer);
      box.remove();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (input.value.trim()) close(input.value.trim());
    });
    no.addEventListener("click", () => close(null));
    box.addEventListener("cancel", () => close(null));
    document.body.append(box);
    box.showModal();
    input.focus();
  });
}

/* Buttons that withdraw one: data-pw-forget = its number; what it is stands in their label. */
document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-forget]");
  if (!button || button.disabled) return;
  const question = `${button.getAttribute("aria-label")}? The audit log keeps it.`;
  if (await confirmed(question, "Forget it")) told(await callApi("DELETE", `${await path()}/${button.dataset.pwForget}`), "Forgotten");
});

/* data-pw-preset-save = JSON of the values in force. */
document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element && event.target.closest("[data-pw-preset-save]");
  if (!button || button.disabled) return;
  const name = await named("Save the values in force as");
  if (name) note("preset", name, { values: JSON.parse(button.dataset.pwPresetSave) }, `Saved as ${name}`);
});

/* A note is pinned to the batch on screen. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.id !== "pw-note-form") return;
  event.preventDefault();
  const box = form.elements.namedItem("text");
  const text = box.value.trim();
  const batch = shownBatch() ?? 0;
  if (text && (await note("note", text, { batch }, `Pinned to batch ${batch}`))) box.value = "";
});
