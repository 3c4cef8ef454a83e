/* Static: a tree of html elements as one Dash component; see dashboard/components/static.py. */
(function () {
  "use strict";
  const COMPONENTS = () => window.planwatch_components;

  function draw(node, key) {
    if (!Array.isArray(node)) return node;
    const [tag, properties, ...children] = node;
    const type = tag.startsWith("@") ? COMPONENTS()[tag.slice(1)] : tag;
    const drawn = children.map((child, index) => draw(child, index));
    return window.React.createElement(type, { ...properties, key }, ...drawn);
  }

  const Static = (props) => draw(props.tree, "root");
  Static.propTypes = window.PropTypes ? { id: window.PropTypes.string, tree: window.PropTypes.any } : {};
  window.planwatch_components = Object.assign(window.planwatch_components || {}, { Static });
})();
