import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** The page's name, and what is done with the page as a whole. */
export function PageHead(props: { readonly title: string; readonly children?: ComponentChildren }) {
  const head = useRef<HTMLHeadingElement>(null);
  // Keyboards and screen readers begin here. Not `useEffect`: it runs after the paint and would take the
  // focus from a field that the user has reached meanwhile.
  useLayoutEffect(() => head.current?.focus({ preventScroll: true }), []);
  return (
    <header class="page-head">
      <h1 ref={head} tabIndex={-1}>
        {props.title}
      </h1>
      {props.children}
    </header>
  );
}
