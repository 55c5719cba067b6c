import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { driverService } from "../api/drivers.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { Icon } from "../components/icon.tsx";
import { Failed, Notice } from "../components/state.tsx";
import { Words } from "../components/words.tsx";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { ItemField } from "./item-field.tsx";
import { behaviourOf } from "./list.tsx";
import { PasteButton } from "./paste.tsx";
import { type Checked, Result } from "./result.tsx";
import { isShown, type Values } from "./shown.ts";

/** Pause after a key press before the service checks the form, in milliseconds. */
const CHECK_AFTER = 200;

/** The live form of a driver: what depends on something is shown when it matters. Nothing is stored. */
export function DriverForm({ name, info }: { readonly name: string; readonly info: DriverInfo }) {
  const values = useSignal<Values>({});
  const checked = useSignal<Checked | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const touched = useSignal<ReadonlySet<string>>(new Set());
  const unknown = useSignal<readonly string[]>([]);
  const items = new Map([...info.common, ...info.additional].map((item) => [item.name, item]));
  const now = values.value;

  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(() => {
      driverService.validateDriverConfig({ driver: name, textValues: now }, { signal }).then(
        ({ violations, values }) => {
          const entries = violations.map(({ field, description }) => [field, description] as const);
          checked.value = { violations: new Map(entries), values: values ?? {} };
          failure.value = undefined;
        },
        (thrown: unknown) => {
          if (!signal.aborted) failure.value = failureOf(thrown);
        },
      );
    }, CHECK_AFTER);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
    // Another catalogue may judge otherwise.
  }, [name, info, now, checked, failure]);

  const change = (item: ConfigItem, value: string): void => {
    values.value = { ...values.peek(), [item.name]: value };
    touched.value = new Set(touched.peek()).add(item.name);
  };
  const paste = (pasted: Values): void => {
    values.value = { ...values.peek(), ...pasted };
    const known = Object.keys(pasted).filter((one) => items.has(one));
    unknown.value = Object.keys(pasted).filter((one) => !items.has(one));
    touched.value = new Set([...touched.peek(), ...known]);
  };
  const wrong = useComputed(() => checked.value?.violations ?? new Map<string, string>()).value;
  const part = (title: string, list: readonly ConfigItem[]) => {
    const shown = list.filter((item) => isShown(item, items, now));
    if (shown.length === 0) return null;
    return (
      <section class="sheet" aria-label={title}>
        <h2 class="sheet-title">{title}</h2>
        {shown.map((item) => (
          <ItemField
            key={item.name}
            item={item}
            value={now[item.name]}
            wrong={touched.value.has(item.name) ? wrong.get(item.name) : undefined}
            missing={wrong.has(item.name)}
            onChange={(value) => change(item, value)}
          />
        ))}
      </section>
    );
  };
  return (
    <>
      <PageHead title={info.label || name}>
        <div class="ways">
          {info.guide !== "" && (
            <a class="button" href={info.guide} target="_blank" rel="noreferrer">
              {t("drivers.guide")}
            </a>
          )}
          <a class="button" href={href("drivers")}>
            {t("drivers.all")}
          </a>
          <PasteButton driver={name} onPaste={paste} />
        </div>
      </PageHead>
      <Alert text={info.config?.alert ?? ""} />
      <p class="behaviour quiet">{behaviourOf(info.config).join(" · ")}</p>
      {unknown.value.length > 0 && (
        <Notice kind="warning">{t("drivers.unknown", { names: unknown.value.join(", ") })}</Notice>
      )}
      {failure.value && <Failed failure={failure.value} />}
      <div class="driver">
        <div>
          {part(t("drivers.own"), info.additional)}
          {part(t("drivers.common"), info.common)}
        </div>
        <Result driver={name} checked={checked.value} />
      </div>
    </>
  );
}

/** A driver's warning: `level|text`. */
function Alert({ text }: { readonly text: string }) {
  if (text === "") return null;
  const [level = "", words = ""] = text.split(/\|(.*)/s);
  if (level === "success" || level === "info")
    return (
      <p class="hint">
        <Icon name="done" />
        <Words text={words} />
      </p>
    );
  return (
    <Notice kind={level === "danger" ? "wrong" : "warning"}>
      <Words text={words === "" ? text : words} />
    </Notice>
  );
}
