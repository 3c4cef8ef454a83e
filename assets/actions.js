/* Buttons of the header: freeze, theme, share, help, now. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const NEXT = { system: "light", light: "dark", dark: "system" };

  pw.share = async function () {
    const link = pw.permalink();
    try {
      await navigator.clipboard.writeText(link);
      pw.toast("Permalink copied");
    } catch {
      pw.toast(link); // no clipboard here: show it to copy by hand
    }
  };

  pw.help = function () {
    const dialog = pw.byId("pw-help");
    if (!dialog) return;
    if (dialog.open) dialog.close();
    else dialog.showModal();
  };

  pw.nextTheme = function () {
    const choice = NEXT[pw.theme.choice() || "system"];
    pw.theme.set(choice === "system" ? null : choice);
    const words = { system: "Theme follows the system", light: "Light theme", dark: "Dark theme" };
    pw.announce(words[choice]);
  };

  function drawTheme() {
    const button = pw.byId("pw-theme-toggle");
    const choice = pw.theme.choice() || "system";
    pw.attr(button, "data-choice", choice);
    pw.attr(button, "aria-label", `Theme: ${choice}; switch to ${NEXT[choice]}`);
    pw.attr(button, "title", `Theme: ${choice}`);
    const scheme = pw.theme.scheme();
    pw.setProps("pw-mantine", { forceColorScheme: scheme });
    pw.setProps("pw-theme", { data: scheme });
  }
  pw.theme.listeners.push(drawTheme);

  let begun = false;
  pw.on("shell", () => {
    if (!begun) drawTheme();
    begun = true;
  });

  const CLICKS = {
    "pw-mode": () => pw.toggleFreeze(),
    "pw-resume": () => pw.resume(),
    "pw-theme-toggle": () => pw.nextTheme(),
    "pw-share": () => pw.share(),
    "pw-help-open": () => pw.help(),
    "pw-help-close": () => pw.help(),
  };

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("button[id]");
    if (button && CLICKS[button.id]) CLICKS[button.id]();
    if (event.target instanceof HTMLDialogElement && event.target.id === "pw-help") event.target.close();
  });
})();
