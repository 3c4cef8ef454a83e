/* Who else looks at the run on screen, as the live stream tells: by the name each browser keeps, nothing is
   stored. */
import { byId, on, setAttr, setText } from "./core.js";

const MOST_NAMED = 2;

/** @param {string[]} names of the others, '' of one who gave none
    @returns {string} */
export function presence(names) {
  const named = names.filter(Boolean).slice(0, MOST_NAMED);
  const more = names.length - named.length;
  const parts = [...named, ...(more ? [named.length ? `${more} more` : more === 1 ? "somebody else" : `${more} others`] : [])];
  if (!parts.length) return "";
  const listed = parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}` : parts[0];
  return `${listed} ${names.length === 1 ? "is" : "are"} here`;
}

on("present", (names) => {
  const text = presence(names);
  const node = byId("pw-present");
  if (!node) return;
  setText("pw-present-names", text);
  setText("pw-present-short", `+${names.length} here`);
  node.hidden = !text;
  setAttr(node, "title", `${text}: ${names.map((name) => name || "no name given").join(", ")}`);
});
