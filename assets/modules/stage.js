/* For a lecture hall: large type, and nothing but what is shown (?stage=1, z_stage.css). s enters and leaves,
   Esc leaves; what plays or is LIVE goes on. */
import { announce, on } from "./core.js";
import { go, moment } from "./moment.js";

export const isOnStage = () => moment.stage === "1";

export function toggleStage() {
  const enters = !isOnStage();
  if (enters) announce("Stage: Escape leaves it");
  go({ stage: enters ? "1" : null });
}

on("moment", () => document.documentElement.toggleAttribute("data-stage", isOnStage()));

document.addEventListener("click", ({ target }) => {
  if (target.id === "pw-stage-open") toggleStage();
});
