/* Whether Dash still works: callbacks asked for, or answers on their way. A page that is asked again
   before it has answered throws the first answer away, and asked often enough never draws. */

/** Whether some callback has not been answered yet. */
export const busy = () => (window.dash_stores || []).some((store) => store.getState().isLoading);

const QUIET_FRAMES = 2; // one callback leads to the next; the second frame shows what they drew
const BUSY_MS = 30; // while callbacks are out, no frame is asked for: each is drawn
let waiting = null;

/** Resolves when all callbacks are answered and what they drew is on screen. */
export function settled() {
  waiting = waiting || new Promise(wait).finally(() => (waiting = null));
  return waiting;
}

function wait(resolve) {
  let quiet = 0;
  const look = () => {
    quiet = busy() ? 0 : quiet + 1;
    if (quiet > QUIET_FRAMES) resolve();
    else if (quiet === 0) window.setTimeout(look, BUSY_MS);
    else window.requestAnimationFrame(look);
  };
  window.requestAnimationFrame(look);
}
