// The element as a React component. Handlers are props, so that no page needs a ref for them; React 18 knows no events of custom
// elements, and a page that is rendered ahead none at all.
import { createElement, useEffect, useImperativeHandle, useRef } from "react";
import "./hush-grad.js";

const EVENTS = { onReady: "ready", onStep: "step", onPaused: "paused", onComplete: "complete", onState: "state", onError: "error" };

/** Attributes go to the element as they are; handlers hear the event's `detail`. `ref` is the element, with its methods. */
export function HushGrad({ ref, innerRef, className, children, ...props }) {
  const element = useRef(null);
  const handlers = useRef({});
  handlers.current = props;
  useImperativeHandle(ref ?? innerRef, () => element.current, []);
  useEffect(() => {
    const target = element.current;
    const ears = Object.entries(EVENTS).map(([name, kind]) => [kind, ({ detail }) => handlers.current[name]?.(detail)]);
    for (const [kind, hear] of ears) target.addEventListener(kind, hear);
    return () => ears.forEach(([kind, hear]) => target.removeEventListener(kind, hear));
  }, []);
  const attributes = Object.fromEntries(Object.entries(props).filter(([name, value]) => !(name in EVENTS) && value !== undefined && value !== null && value !== false));
  return createElement("hush-grad", { ...attributes, ...(className && { class: className }), ref: element }, children);
}

export default HushGrad;
