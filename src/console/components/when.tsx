import type { ComponentChildren } from "preact";
import { ago, ahead, dateTime } from "../i18n/format.ts";

/**
 * Elapsed time; the tooltip has the time itself.
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
