/* Icon: a 24 x 24 line drawing in the colour of the text around it; a Dash component. */
(function () {
  "use strict";
  function Icon(props) {
    const h = window.React.createElement;
    const size = props.size || 18;
    return h(
      "svg",
      { width: size, height: size, viewBox: "0 0 24 24", className: "pw-icon", "aria-hidden": "true", focusable: "false" },
      h("path", { d: props.path })
    );
  }
  Icon.propTypes = window.PropTypes ? { path: window.PropTypes.string, size: window.PropTypes.number } : {};
  window.planwatch_components = Object.assign(window.planwatch_components || {}, { Icon });
})();
