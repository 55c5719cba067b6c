import { useSignal } from "@preact/signals";
import { settingService } from "../api/client.ts";
import type { Failure } from "../api/failure.ts";
import { asOwn, reached } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { Dialog, FormActions } from "../components/dialog.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";

const TYPES = ["string", "text", "number", "bool", "select"];
const EMPTY = { key: "", type: "string", options: "", help: "", value: "", visible: false };

/** Creates a custom setting, for the operator's own clients. */
export function NewSetting() {
  const isDialogOpen = useSignal(false);
  const ask = (open: boolean): void => {
    isDialogOpen.value = open;
  };
  const input = useSignal(EMPTY);
  const { busy, failure, run } = useAction();
  const { key, type, options, help, value, visible } = input.value;
  const set = (change: Partial<typeof EMPTY>): void => {
    input.value = { ...input.peek(), ...change };
  };
  const make = () =>
    run(async ({ go }) => {
      const flag = visible ? 0 : 1;
      const first = type === "bool" && value === "" ? "false" : value;
      // Fails if the setting exists: another client's setting is not overwritten.
      const setting = { key, type, options, help, value: first, flag, expectedEtag: "0" };
      const { revision } = await asOwn(settingService.saveSettings({ settings: [setting] }));
      await reached(revision);
      ask(false);
      input.value = EMPTY;
      go(href("settings", { key }));
    });
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
            {problemsOf(failure).map((words) => (
              <p key={words} class="wrong" role="alert">
                {words}
              </p>
            ))}
            <FormActions label={t("new.make")} busy={busy} onCancel={() => ask(false)} />
          </form>
        </Dialog>
      )}
    </>
  );
}

function problemsOf(failure: Failure | undefined): readonly string[] {
  if (failure === undefined) return [];
  const { violations, message } = failure;
  if (violations.length === 0) return [message || t("state.offline")];
  return violations.map(({ description }) => description);
}
