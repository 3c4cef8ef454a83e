/* React, as Dash brings it, and the hooks shared by the components. */
export const h = window.React.createElement;
export const useState = window.React.useState;
export const useEffect = window.React.useEffect;
export const useLayoutEffect = window.React.useLayoutEffect;
export const useMemo = window.React.useMemo;
export const useRef = window.React.useRef;

/** Have all that an act changes drawn before the next frame.
    @param {() => void} act */
export const atOnce = (act) => window.ReactDOM.flushSync(act);

/** The width in whole pixels of the element that gets the ref, 0 before layout.
    @returns {[{current: Element | null}, number]} */
export function useWidth() {
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
}
