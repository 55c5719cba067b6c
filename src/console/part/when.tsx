import { ago, ahead, dateTime } from "../i18n/format.ts";

/**
 * How long ago something was; the tip has the time itself.
 *
 * @param time in milliseconds since 1970 UTC.
 * @param ahead it may be still to come.
 */
export function When(props: { readonly time: number; readonly ahead?: boolean }) {
  const { time } = props;
  return (
    <time dateTime={new Date(time).toISOString()} title={dateTime(time)}>
      {props.ahead ? ahead(time) : ago(time)}
    </time>
  );
}
