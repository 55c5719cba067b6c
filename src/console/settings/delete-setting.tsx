import { useState } from "preact/hooks";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "../api/client.ts";
import { asOwn } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/confirm.tsx";
import { t } from "../i18n/language.ts";
import { discard } from "./edit.ts";

/** The flag of what may be deleted (contract, section 2.4). */
export const DEPRECATED = 3;

/** Deletes a custom setting, or one that has no effect any more, after a question. */
export function DeleteSetting({ setting }: { readonly setting: Setting }) {
  const { key } = setting;
  const [asked, ask] = useState(false);
  const remove = async (): Promise<void> => {
    discard([key]);
    await asOwn(settingService.deleteSetting({ key, expectedRevision: await retire(setting) }));
  };
  return (
    <>
      <Button kind="bare" onClick={() => ask(true)}>
        {t("delete.open")}
      </Button>
      {asked && (
        <Confirm
          title={t("delete.title", { key })}
          action={t("delete.now")}
          onAction={remove}
          onClose={() => ask(false)}
        >
          {t("delete.question")}
        </Confirm>
      )}
    </>
  );
}

/** Only deprecated settings can be deleted: any other becomes one first. @returns its revision. */
async function retire({ key, flag, revision }: Setting): Promise<bigint> {
  if (flag === DEPRECATED) return revision;
  // With its current value, which the page does not have of a secret.
  const { setting } = await settingService.getSetting({ key });
  const input = { key, value: setting?.value ?? "", flag: DEPRECATED, expectedRevision: revision };
  const saved = await asOwn(settingService.saveSettings({ settings: [input] }));
  return saved.revision;
}
