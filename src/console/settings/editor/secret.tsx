import { useState } from "preact/hooks";
import { settingService } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { Button } from "../../components/button.tsx";
import { t } from "../../i18n/language.ts";
import { discard, edits } from "../edit.ts";
import { common, type EditorProps } from "./fields.tsx";

/**
 * Editor for a password, token or key. The page requests the value only to show it. Typed text
 * replaces it.
 */
export function Secret(props: EditorProps) {
  const { setting, fixed, revealable, onChange } = props;
  const [shown, setShown] = useState<string>();
  const [failure, setFailure] = useState("");
  const edit = edits.value.get(setting.key);
  const isSet = setting.value !== "";
  const reveal = async (): Promise<void> => {
    try {
      const read = await settingService.getSetting({ key: setting.key });
      setShown(read.setting?.value ?? "");
      setFailure("");
    } catch (thrown) {
      setFailure(failureOf(thrown).message || t("state.offline"));
    }
  };
  const lines = setting.type === "text";
  const visible = shown !== undefined;
  const type = (text: string): void => {
    if (text === "" && edit !== undefined) discard([setting.key]);
    else if (text === shown) discard([setting.key]);
    else onChange(text);
  };
  const attributes = {
    ...common(props),
    class: "input mono",
    value: edit?.mine ?? shown ?? "",
    placeholder: t(placeholder(edit?.mine, isSet, fixed)),
  };
  return (
    <div class="secret">
      {lines && (visible || edit !== undefined || !isSet) ? (
        <textarea {...attributes} rows={2} onInput={(event) => type(event.currentTarget.value)} />
      ) : visible ? (
        <input {...attributes} onInput={(event) => type(event.currentTarget.value)} />
      ) : (
        <input
          {...attributes}
          type="password"
          autocomplete="new-password"
          onInput={(event) => type(event.currentTarget.value)}
        />
      )}
      {isSet && revealable && (
        <Button
          icon={visible ? "hide" : "eye"}
          aria-label={t(visible ? "secret.hide" : "secret.show")}
          onClick={() => (visible ? setShown(undefined) : void reveal())}
        />
      )}
      {isSet && !fixed && edit?.mine !== "" && (
        <Button onClick={() => onChange("")}>{t("secret.clear")}</Button>
      )}
      {failure !== "" && (
        <p class="wrong" role="alert">
          {failure}
        </p>
      )}
    </div>
  );
}

function placeholder(mine: string | undefined, isSet: boolean, fixed: boolean) {
  if (mine === "") return "secret.willBeEmpty";
  if (!isSet) return "secret.isEmpty";
  return fixed ? "secret.isHidden" : "secret.isSet";
}
