import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { CopyButton } from "../components/copy.tsx";
import { Notice } from "../components/state.tsx";
import { number, t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";

/** Selected expiry of a token: after a number of days, on a day, or explicitly never. */
export interface End {
  readonly kind: "same" | "days" | "date" | "never";
  readonly days: number;
  /** Value of a date field, such as `2030-01-31`: the token expires at the end of that day. */
  readonly date: string;
}

const DAY = 86_400_000;
const DAYS = [7, 30, 90, 365];

/** Expiry in a request. */
export function endRequest({ kind, days, date }: End) {
  if (kind === "same") return {};
  if (kind === "never") return { neverExpires: true };
  if (kind === "days") return { expireTime: timestampFromMs(Date.now() + days * DAY) };
  const last = new Date(`${date}T00:00`);
  last.setDate(last.getDate() + 1);
  // An invalid day becomes now, which the service refuses.
  return {
    expireTime: timestampFromMs(Number.isNaN(last.getTime()) ? Date.now() : last.getTime()),
  };
}

/** Field for the expiry of a token. @param kinds choices in addition to days. */
export function EndField(props: {
  readonly value: End;
  readonly kinds: readonly End["kind"][];
  readonly wrong: string | undefined;
  readonly onChange: (end: End) => void;
}) {
  const { value, kinds, wrong, onChange } = props;
  const name = value.kind === "days" ? String(value.days) : value.kind;
  const choose = (chosen: string): void => {
    const days = Number(chosen);
    if (days > 0) onChange({ ...value, kind: "days", days });
    else onChange({ ...value, kind: chosen as End["kind"] });
  };
  return (
    <div class="end">
      <label class="label" for="token-end">
        {t("token.end")}
      </label>
      <p class="ways">
        <select
          id="token-end"
          class="input"
          value={name}
          aria-describedby="token-end-wrong"
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {kinds.includes("same") && <option value="same">{t("token.endSame")}</option>}
          {DAYS.map((days) => (
            <option key={days} value={days}>
              {t("token.endDays", { count: days, days: number(days) })}
            </option>
          ))}
          <option value="date">{t("token.endDate")}</option>
          {kinds.includes("never") && <option value="never">{t("token.endNever")}</option>}
        </select>
        {value.kind === "date" && (
          <input
            class="input"
            type="date"
            aria-label={t("token.endDay")}
            value={value.date}
            onInput={(event) => onChange({ ...value, date: event.currentTarget.value })}
          />
        )}
      </p>
      <p class="wrong" id="token-end-wrong" role="alert">
        {wrong}
      </p>
      {value.kind === "never" && <Notice kind="warning">{t("token.neverWarning")}</Notice>}
    </div>
  );
}

/** Text of a new token, which is shown only once. */
export function MadeToken({ id, secret }: { readonly id: string; readonly secret: string }) {
  return (
    <section class="sheet block" aria-label={t("token.text")}>
      <Notice kind="warning">{t("token.once")}</Notice>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is chosen and copied by keyboard as well. */}
      <p class="input mono made" tabIndex={0} data-secret>
        {secret}
      </p>
      <p class="ways">
        <CopyButton text={secret} />
        <a class="button main" href={href("tokens", { q: id })}>
          {t("token.kept")}
        </a>
      </p>
    </section>
  );
}
