/* Of which batch a page at rest is: data-painted="run/batch" on the shell. It is there while header, strip,
   graph and panels are of that batch and nothing is on its way to the page, and gone as soon as something is. */
import { byId, on, setAttr } from "./core.js";
import { known } from "./moment.js";
import { isPainting, paintedBatch } from "./painted.js";
import { busy, settled } from "./settled.js";

const followed = new Set(); // Dash's stores
let looks = false;

function moved() {
  const shell = byId("pw-shell");
  if (shell) shell.removeAttribute("data-painted");
  if (!looks) look();
}

async function look() {
  looks = true;
  do await settled();
  while (isPainting());
  looks = false;
  setAttr(byId("pw-shell"), "data-painted", `${known.run || ""}/${paintedBatch() ?? ""}`);
}

/* Callbacks are asked for by what no event tells of, too. */
function follow() {
  for (const store of window.dash_stores || []) {
    if (followed.has(store)) continue;
    followed.add(store);
    store.subscribe(() => busy() && moved());
  }
  moved();
}

on("shell", follow);
for (const news of ["moment", "painting", "painted"]) on(news, () => followed.size && moved());
