import type { JsonObject } from "@bufbuild/protobuf";
import { useState } from "preact/hooks";
import { driverService } from "../api/drivers.ts";
import { failureOf } from "../api/failure.ts";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Icon } from "../components/icon.tsx";
import { saveFile } from "../components/save-file.ts";
import { t } from "../i18n/language.ts";

/** Result of the service's check of a configuration. */
export interface Checked {
  /** Item name to what is wrong; `values` for the whole. */
  readonly violations: ReadonlyMap<string, string>;
  /** The configuration with its defaults. */
  readonly values: JsonObject;
}

/** The configuration that the form makes, as the service understands it. */
export function Result(props: { readonly driver: string; readonly checked: Checked | undefined }) {
  const { driver, checked } = props;
  const [failure, setFailure] = useState("");
  const wrong = [...(checked?.violations ?? [])];
  const json = JSON.stringify(checked?.values ?? {}, null, 2);
  const schema = async (): Promise<void> => {
    try {
      const read = await driverService.getDriverSchema({ driver });
      saveFile(`${driver}.schema.json`, JSON.stringify(read.schema, null, 2));
      setFailure("");
    } catch (thrown) {
      setFailure(failureOf(thrown).message || t("state.offline"));
    }
  };
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
      {failure !== "" && (
        <p class="wrong" role="alert">
          {failure}
        </p>
      )}
    </aside>
  );
}

function focusItem(event: Event, field: string): void {
  event.preventDefault();
  document.getElementById(`item-${field}`)?.focus();
}
