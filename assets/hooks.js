/* React hooks shared by the components. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});

  /** [ref, width]: the width in whole pixels of the element that gets the ref, 0 before layout. */
  pw.useWidth = function () {
    const { useState, useRef, useLayoutEffect } = window.React;
    const ref = useRef(null);
    const [width, setWidth] = useState(0);
    useLayoutEffect(() => {
      const measure = () => setWidth(Math.floor(ref.current.clientWidth));
      measure();
      const observer = new ResizeObserver(measure);
      observer.observe(ref.current);
      return () => observer.disconnect();
    }, []);
    return [ref, width];
  };
})();
