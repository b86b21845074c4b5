// The element as a React component. Handlers are props, so that pages need no ref: React 18 does
// not support events of custom elements, and pages rendered in advance have none.
import { createElement, useEffect, useImperativeHandle, useRef } from "react";
import "./hush-grad.js";

const EVENTS = { onReady: "ready", onStep: "step", onPaused: "paused", onComplete: "complete", onState: "state", onError: "error" };

/** Passes attributes to the element; handlers receive the event's `detail`; `ref`: the element. */
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
