/* Questions of which only the newest matters. Pure. */

/** Asks one question at a time: of those that come meanwhile the newest goes next, and only its answer is told.
    @template Q, A
    @param {(question: Q) => Promise<A>} ask
    @param {(answer: A, question: Q) => void} tell
    @returns {(question: Q) => Promise<void>} */
export function newestOnly(ask, tell) {
  let busy = false;
  /** @type {{question: Q} | null} */
  let next = null;
  return async (asked) => {
    next = { question: asked };
    if (busy) return;
    busy = true;
    while (next) {
      const { question } = next;
      next = null;
      const answer = await ask(question);
      if (!next) tell(answer, question);
    }
    busy = false;
  };
}
