/* Buttons of the header: freeze, theme, share, help, now. */
import { announce, byId, on, openDialog, setAttr, toast } from "./core.js";
import { setProps } from "./dash.js";
import { permalink, resume, toggleFreeze } from "./moment.js";
import { holdOrGoOn, step } from "./pace.js";
import { openSearch } from "./search.js";

const { theme } = window.planwatch; // assets/theme_boot.js
const NEXT = { system: "light", light: "dark", dark: "system" };

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    toast(said);
  } catch {
    toast(text); // no clipboard here: show it to copy by hand
  }
}

export const copyPermalink = () => copy(permalink(), "Permalink copied");

export function toggleHelp() {
  const dialog = byId("pw-help");
  if (!dialog) return;
  if (dialog.open) return dialog.close();
  openDialog(dialog);
}

export function nextTheme() {
  const choice = NEXT[theme.choice() || "system"];
  theme.set(choice === "system" ? null : choice);
  const words = { system: "Theme follows the system", light: "Light theme", dark: "Dark theme" };
  announce(words[choice]);
}

function drawTheme() {
  const button = byId("pw-theme-toggle");
  const choice = theme.choice() || "system";
  setAttr(button, "data-choice", choice);
  setAttr(button, "aria-label", `Theme: ${choice}; switch to ${NEXT[choice]}`);
  setAttr(button, "title", `Theme: ${choice}`);
}
theme.listeners.push(drawTheme, (scheme) => setProps("pw-theme", { data: scheme }));

let begun = false;
on("shell", () => {
  if (!begun) drawTheme();
  begun = true;
});

const CLICKS = {
  "pw-mode": () => toggleFreeze(),
  "pw-resume": () => resume(),
  "pw-hold": () => holdOrGoOn(),
  "pw-step": () => step("batch"),
  "pw-decide": () => step("decision"),
  "pw-theme-toggle": () => nextTheme(),
  "pw-share": () => copyPermalink(),
  "pw-search-open": () => openSearch(),
  "pw-help-open": () => toggleHelp(),
  "pw-help-close": () => toggleHelp(),
  "pw-stage-open": () => toggleHelp(),
};

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button[id]");
  if (button && CLICKS[button.id]) CLICKS[button.id]();
  const copied = event.target instanceof Element && event.target.closest("button[data-pw-copy]");
  if (copied instanceof HTMLElement) copy(copied.dataset.pwCopy, "Copied");
  if (event.target instanceof HTMLDialogElement && event.target.id === "pw-help") event.target.close();
});
