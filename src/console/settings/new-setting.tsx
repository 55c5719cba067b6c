import { useSignal } from "@preact/signals";
import { settingService } from "../api/client.ts";
import { failureOf } from "../api/failure.ts";
import { asOwn, reached } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { t } from "../i18n/language.ts";
import { go, href } from "../shell/location.ts";

const TYPES = ["string", "text", "number", "bool", "select"];
const EMPTY = { key: "", type: "string", options: "", help: "", value: "", visible: false };

/** Creates a custom setting, for the operator's own clients. */
export function NewSetting() {
  const isDialogOpen = useSignal(false);
  const ask = (open: boolean): void => {
    isDialogOpen.value = open;
  };
  const input = useSignal(EMPTY);
  const wrong = useSignal<readonly string[]>([]);
  const { key, type, options, help, value, visible } = input.value;
  const set = (change: Partial<typeof EMPTY>): void => {
    input.value = { ...input.peek(), ...change };
  };
  const make = async (): Promise<void> => {
    const flag = visible ? 0 : 1;
    const first = type === "bool" && value === "" ? "false" : value;
    // Fails if the setting exists: another client's setting is not overwritten.
    const setting = { key, type, options, help, value: first, flag, expectedEtag: "0" };
    try {
      const { revision } = await asOwn(settingService.saveSettings({ settings: [setting] }));
      await reached(revision);
      ask(false);
      input.value = EMPTY;
      wrong.value = [];
      go(href("settings", { key }));
    } catch (thrown) {
      const { violations, message } = failureOf(thrown);
      const said = violations.map(({ description }) => description);
      wrong.value = said.length > 0 ? said : [message || t("state.offline")];
    }
  };
  const text = (name: "key" | "help" | "value" | "options") => (
    <label>
      <span class="label">{t(`new.${name}`)}</span>
      <input
        class="input mono"
        autocomplete="off"
        spellcheck={false}
        value={input.value[name]}
        onInput={(event) => set({ [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <>
      <Button icon="add" onClick={() => ask(true)}>
        {t("new.open")}
      </Button>
      {isDialogOpen.value && (
        <Dialog title={t("new.title")} onClose={() => ask(false)}>
          <form
            class="block-form"
            onSubmit={(event) => {
              event.preventDefault();
              void make();
            }}
          >
            {text("key")}
            <label>
              <span class="label">{t("new.type")}</span>
              <select
                class="input"
                value={type}
                onChange={(event) => set({ type: event.currentTarget.value })}
              >
                {TYPES.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </select>
            </label>
            {type === "select" && text("options")}
            {text("value")}
            {text("help")}
            <label class="check">
              <input
                type="checkbox"
                checked={visible}
                onChange={(event) => set({ visible: event.currentTarget.checked })}
              />
              <span>{t("new.visible")}</span>
            </label>
            {wrong.value.map((words) => (
              <p key={words} class="wrong" role="alert">
                {words}
              </p>
            ))}
            <div class="actions">
              <Button onClick={() => ask(false)}>{t("action.cancel")}</Button>
              <Button kind="main" type="submit">
                {t("new.make")}
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
