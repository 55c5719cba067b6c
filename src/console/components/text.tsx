import type { ComponentChildren } from "preact";
import { ago, ahead, dateTime } from "../i18n/format.ts";

/**
 * Elapsed time, with the exact time as a tooltip.
 *
 * @param time in milliseconds since 1970 UTC.
 * @param ahead whether it may be in the future.
 */
export function When(props: { readonly time: number; readonly ahead?: boolean }) {
  const { time } = props;
  return (
    <time dateTime={new Date(time).toISOString()} title={dateTime(time)}>
      {props.ahead ? ahead(time) : ago(time)}
    </time>
  );
}

/** Sentence with an element at the position of `{when}`, which depends on the language. */
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

/** Text of the service with `code` between backquotes. It is not interpreted as HTML. */
export function Words({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
        .map((part, index) =>
          index % 2 === 0 ? (
            part
          ) : part.startsWith("`") ? (
            <code key={index}>{part.slice(1, -1)}</code>
          ) : (
            <strong key={index}>{part.slice(2, -2)}</strong>
          ),
        )}
    </>
  );
}

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
