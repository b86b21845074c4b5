// The playground in a Docusaurus page; it has the page's theme, and follows it. The script is loaded in the browser alone, once.
import React, { useEffect, useRef } from "react";

const SITE = "https://hushgrad.example/";

/** Attributes go to the element as they are; `onEvent` hears ready, step, paused, complete, state and error. */
export default function HushGrad({ onEvent, ...attributes }) {
  const element = useRef(null);
  useEffect(() => {
    if (!document.querySelector(`script[src="${SITE}element.js"]`)) {
      const script = document.createElement("script");
      script.src = `${SITE}element.js`;
      document.head.append(script);
    }
  }, []);
  useEffect(() => {
    const target = element.current;
    const kinds = ["ready", "step", "paused", "complete", "state", "error"];
    kinds.forEach((kind) => target.addEventListener(kind, onEvent));
    return () => kinds.forEach((kind) => target.removeEventListener(kind, onEvent));
  }, [onEvent]);
  return <hush-grad ref={element} style={{ display: "block", minHeight: 400 }} {...attributes} />;
}
