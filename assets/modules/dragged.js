/* A line that is dragged over a box, by pointer and by keys: handlers of elements. */

/** Of what takes the pointer. ``change`` gets the place over the box, 0 at its left and 1 at its right end.
    @param {{current: any}} box
    @param {(place: number) => void} change
    @param {boolean} jumps whether it goes to where the pointer is put down */
export function byPointer(box, change, jumps = true) {
  const drag = (event) => {
    const { left, width } = box.current.getBoundingClientRect();
    change((event.clientX - left) / width);
  };
  const loose = (event) => delete event.currentTarget.dataset.held;
  return {
    onPointerDown: (event) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      event.currentTarget.dataset.held = "1";
      if (jumps) drag(event);
    },
    onPointerMove: (event) => event.currentTarget.dataset.held && drag(event),
    onPointerUp: loose,
    onPointerCancel: loose,
  };
}

/** Of the line, which has the focus. ``next`` tells the value that a key asks for, undefined for others.
    @param {(key: string) => any} next
    @param {(value: any) => void} change */
export const byKeys = (next, change) => ({
  onKeyDown: (event) => {
    const value = next(event.key);
    if (value === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    change(value);
  },
});
