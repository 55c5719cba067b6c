import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** The page's name, and what is done with the page as a whole. */
export function PageHead(props: { readonly title: string; readonly children?: ComponentChildren }) {
  const head = useRef<HTMLHeadingElement>(null);
  // Who comes by keyboard or by ear begins here.
  useEffect(() => head.current?.focus({ preventScroll: true }), []);
  return (
    <header class="page-head">
      <h1 ref={head} tabIndex={-1}>
        {props.title}
      </h1>
      {props.children}
    </header>
  );
}
