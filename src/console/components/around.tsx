import type { ComponentChildren } from "preact";

/** A sentence with an element in it, where its language wants that: at `{when}`. */
export function Around(props: { readonly text: string; readonly children: ComponentChildren }) {
  const [before, after] = props.text.split("{when}");
  return (
    <>
      {before}
      {props.children}
      {after}
    </>
  );
}
