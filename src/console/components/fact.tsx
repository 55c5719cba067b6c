import type { ComponentChildren } from "preact";

/** Entry of a list of facts; nothing when empty. */
export function Fact(props: { readonly name: string; readonly children: ComponentChildren }) {
  const { name, children } = props;
  if (children === "" || children === undefined) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
