import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { mistakeOf } from "../components/json-mistake.ts";
import { t } from "../i18n/language.ts";
import type { Values } from "./shown.ts";

/** Starts the form from a configuration that one has: its values, or a whole storage. */
export function PasteButton(props: {
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

/** Members of a storage that its server keeps, which are no items of a driver's form. */
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
