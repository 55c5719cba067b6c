import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Title of a page with its actions. */
export function PageHead(props: { readonly title: string; readonly children?: ComponentChildren }) {
  const head = useRef<HTMLHeadingElement>(null);
  // Initial focus for keyboards and screen readers. `useEffect` would run after the paint and could
  // move the focus from a field that the user has already selected.
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
