import { common, type EditorProps } from "./props.ts";

/** One line of text. */
export function Line(props: EditorProps) {
  return (
    <input
      {...common(props)}
      class="input mono"
      value={props.value}
      onInput={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}

/** Several lines; it grows with them. */
export function Text(props: EditorProps) {
  return (
    <textarea
      {...common(props)}
      class="input mono"
      rows={2}
      value={props.value}
      onInput={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
