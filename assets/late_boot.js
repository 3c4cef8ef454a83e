/* Tells on the page what the server says when it refuses the page's scripts or questions. No module: those
   are what is refused. A browser says where a page is from when it asks for more than to read, so that is done. */
(function () {
  "use strict";
  const PATIENCE_MS = 8000; // so long a page may take to be laid out before it is looked into
  const ADDRESS = new URL("../../healthz", document.currentScript.src);
  let isAsked = false;

  async function ask() {
    if (isAsked || document.querySelector("#pw-page h1")) return;
    isAsked = true;
    try {
      const answer = await fetch(ADDRESS, { method: "OPTIONS", credentials: "same-origin" });
      if (answer.status === 400 || answer.status === 403) tell((await answer.json()).error.message);
    } catch {
      isAsked = false; // it does not answer: nothing was refused
    }
  }

  function tell(message) {
    const note = document.getElementById("pw-late");
    note.textContent = message;
    note.dataset.told = "1";
  }

  window.addEventListener("error", (event) => event.target instanceof HTMLScriptElement && ask(), true);
  window.setTimeout(ask, PATIENCE_MS);
})();
