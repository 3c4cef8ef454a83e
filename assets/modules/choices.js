/* What a text in a field with choices means: pure functions. choices: [[words, …]]. */
const short = (words) => words.replace(/ \([^()]*\)$/, "");

/** One of the choices, for people to see how they are called. */
export function exampleOf(choices) {
  const [words] = choices.find(([one]) => one.endsWith("Batch time") || one.endsWith("(batch_ms)")) || choices[0] || [""];
  return short(words);
}

/** The choice a text means: its words, with or without the name of the property, or the only one that
    has the text in it. What is told instead stands in ``why``. */
export function choiceOf(text, choices) {
  const asked = text.trim().toLowerCase();
  if (!asked) return { why: `Say which number it is about, for example ${exampleOf(choices)}.` };
  const same = choices.filter(([words]) => words.toLowerCase() === asked || short(words).toLowerCase() === asked);
  const near = same.length ? same : choices.filter(([words]) => words.toLowerCase().includes(asked));
  if (near.length === 1) return { choice: near[0] };
  if (!near.length) return { why: `No number is called ${text.trim()}. Pick one from the list.` };
  return { why: `${near.length} numbers fit ${text.trim()}: ${near.slice(0, 3).map(([words]) => words).join("; ")}${near.length > 3 ? "; …" : ""}. Pick one.` };
}
