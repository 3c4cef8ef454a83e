/* Where the modules meet Dash. Its renderer, which is loaded before them, has made the namespace. */
const clientside = window.dash_clientside;
let begun = false;

/** Components by name, for the layout and for Static; filled by main.js and by scripts of systems.
    @type {Object<string, Function>} */
export const components = (window.planwatch_components = {});

/** The answer of a clientside callback that changes nothing; the renderer makes it when it starts. */
export const noUpdate = () => clientside.no_update;

/** From here on there is a layout whose properties can be set. */
export function begin() {
  begun = true;
}

export const hasBegun = () => begun;

/** Dash's set_props, silent while its component is not on the page.
    @param {string} id
    @param {Object<string, unknown>} props */
export function setProps(id, props) {
  if (begun && clientside.set_props) clientside.set_props(id, props);
}
