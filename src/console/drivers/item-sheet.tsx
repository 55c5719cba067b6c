import type { ConfigItem } from "../../../gen/mooring/v1/driver_pb.js";
import { ItemField } from "./item-field.tsx";
import type { Values } from "./shown.ts";

/** Titled group of a driver's items with their inputs; nothing without items. */
export function ItemSheet(props: {
  readonly title: string;
  readonly items: readonly ConfigItem[];
  readonly values: Values;
  /** Problem of an item that is shown at its input. */
  readonly wrong: (name: string) => string | undefined;
  /** Reports whether an item has a problem, also one that is not shown yet. */
  readonly hasProblem: (name: string) => boolean;
  readonly onChange: (name: string, value: string) => void;
}) {
  const { title, items, values } = props;
  if (items.length === 0) return null;
  return (
    <section class="sheet" aria-label={title}>
      <h2 class="sheet-title">{title}</h2>
      {items.map((item) => (
        <ItemField
          key={item.name}
          item={item}
          value={values[item.name]}
          wrong={props.wrong(item.name)}
          missing={props.hasProblem(item.name)}
          onChange={(value) => props.onChange(item.name, value)}
        />
      ))}
    </section>
  );
}
