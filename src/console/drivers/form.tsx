import type { JsonObject } from "@bufbuild/protobuf";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { isObject } from "../../is-object.ts";
import { driverService } from "../api/drivers.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { Button, Icon } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { mistakeOf } from "../components/json-mistake.ts";
import { saveFile } from "../components/save-file.ts";
import { Failed, Notice } from "../components/state.tsx";
import { Words } from "../components/text.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { ItemSheet } from "./item-sheet.tsx";
import { behaviourOf } from "./list.tsx";
import { isShown, type Values } from "./shown.ts";

/** Pause after a key press before the service checks the form, in milliseconds. */
const CHECK_AFTER = 200;

/** Form of a driver, which shows items by their conditions. Nothing is stored. */
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
    // Another catalogue may give another result.
  }, [name, info, now, checked, failure]);

  const change = (item: string, value: string): void => {
    values.value = { ...values.peek(), [item]: value };
    touched.value = new Set(touched.peek()).add(item);
  };
  const paste = (pasted: Values): void => {
    values.value = { ...values.peek(), ...pasted };
    const known = Object.keys(pasted).filter((one) => items.has(one));
    unknown.value = Object.keys(pasted).filter((one) => !items.has(one));
    touched.value = new Set([...touched.peek(), ...known]);
  };
  const wrong = useComputed(() => checked.value?.violations ?? new Map<string, string>()).value;
  const part = (title: string, list: readonly ConfigItem[]) => (
    <ItemSheet
      title={title}
      items={list.filter((item) => isShown(item, items, now))}
      values={now}
      wrong={(item) => (touched.value.has(item) ? wrong.get(item) : undefined)}
      hasProblem={(item) => wrong.has(item)}
      onChange={change}
    />
  );
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

/** Warning of a driver: `level|text`. */
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

/** Button that fills the form from an existing configuration: values, or a whole storage. */
function PasteButton(props: {
  readonly driver: string;
  readonly onPaste: (values: Values) => void;
}) {
  const [asked, ask] = useState(false);
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const take = (): void => {
    const read = readConfiguration(text, props.driver);
    if (typeof read === "string") {
      setWrong(read);
      return;
    }
    props.onPaste(read);
    setText("");
    setWrong("");
    ask(false);
  };
  return (
    <>
      <Button icon="file" onClick={() => ask(true)}>
        {t("paste.open")}
      </Button>
      {asked && (
        <Dialog title={t("paste.open")} onClose={() => ask(false)}>
          <label>
            <span class="label">{t("paste.label")}</span>
            <textarea
              class="input mono"
              rows={8}
              spellcheck={false}
              value={text}
              aria-invalid={wrong !== ""}
              aria-describedby="paste-wrong"
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <p class="wrong" id="paste-wrong" role="alert">
            {wrong}
          </p>
          <div class="actions">
            <Button onClick={() => ask(false)}>{t("action.cancel")}</Button>
            <Button kind="main" onClick={take}>
              {t("paste.take")}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Members of a storage that are not items of a driver's form. */
const KEPT = ["id", "driver", "addition", "status", "modified", "disabled", "mount_details"];

/**
 * Reads a configuration: an object of values, or a storage as shown by file-listing servers, with
 * the driver's own values as JSON text in `addition`.
 *
 * @returns the values as text; or a description of the problem.
 */
function readConfiguration(text: string, driver: string): Values | string {
  const mistake = mistakeOf(text);
  if (mistake) return t("json.mistake", { line: mistake.line, column: mistake.column });
  const whole: unknown = JSON.parse(text);
  if (!isObject(whole)) return t("paste.noObject");
  const other = whole["driver"];
  if (typeof other === "string" && other !== driver) return t("paste.other", { driver: other });
  const own = typeof whole["addition"] === "string" ? readAddition(whole["addition"]) : {};
  if (own === undefined) return t("paste.noAddition");
  const storage = typeof other === "string" || "addition" in whole;
  const rest = Object.entries(whole).filter(([name]) => !storage || !KEPT.includes(name));
  return Object.fromEntries(
    [...rest, ...Object.entries(own)].map(([name, value]) => [name, asText(value)]),
  );
}

function readAddition(text: string): object | undefined {
  try {
    const own: unknown = JSON.parse(text);
    return isObject(own) ? own : undefined;
  } catch {
    return undefined;
  }
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Result of the service's check of a configuration. */
interface Checked {
  /** Problems by item name; `values` for the whole configuration. */
  readonly violations: ReadonlyMap<string, string>;
  /** Configuration with its defaults. */
  readonly values: JsonObject;
}

/** Configuration of the form after the service's check. */
function Result(props: { readonly driver: string; readonly checked: Checked | undefined }) {
  const { driver, checked } = props;
  const { problem, run } = useAction();
  const wrong = [...(checked?.violations ?? [])];
  const json = JSON.stringify(checked?.values ?? {}, null, 2);
  const schema = () =>
    run(async () => {
      const read = await driverService.getDriverSchema({ driver });
      saveFile(`${driver}.schema.json`, JSON.stringify(read.schema, null, 2));
    });
  return (
    <aside class="result" aria-label={t("drivers.result")}>
      <h2>{t("drivers.result")}</h2>
      {checked && wrong.length === 0 && (
        <p class="fits">
          <Icon name="done" /> {t("drivers.fits")}
        </p>
      )}
      {wrong.length > 0 && (
        <>
          <p>{t("drivers.wrong", { count: wrong.length })}</p>
          <ul>
            {wrong.map(([field, description]) => (
              <li key={field}>
                <a href={`#item-${field}`} onClick={(event) => focusItem(event, field)}>
                  {field}
                </a>
                : {description.replace(`${field}: `, "")}
              </li>
            ))}
          </ul>
        </>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre class="mono" tabIndex={0}>
        {json}
      </pre>
      <div class="ways">
        <CopyButton text={json} name={t("drivers.copyJson")} />
        <Button icon="file" onClick={() => void schema()}>
          {t("drivers.schema")}
        </Button>
      </div>
      {problem !== "" && (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
    </aside>
  );
}

function focusItem(event: Event, field: string): void {
  event.preventDefault();
  document.getElementById(`item-${field}`)?.focus();
}
