import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";

/** Names of parts for display. */
const NAMES: Readonly<Record<string, MessageKey>> = {
  settings: "backup.part.settings",
  mounts: "backup.part.mounts",
  rules: "backup.part.rules",
  sites: "backup.part.sites",
  webhooks: "backup.part.webhooks",
  principals: "backup.part.principals",
  servers: "backup.part.servers",
};

/** Parts of an export, in their order. */
export const EXPORTED = ["settings", "mounts", "rules", "sites", "webhooks", "principals"];
/** Parts that can be restored from a backup. */
export const RESTORED = [...EXPORTED, "servers"];

/** Name of a part for display; other lists of a backup have their own names. */
export function partName(part: string): string {
  const name = NAMES[part];
  return name === undefined ? part : t(name);
}

/** Choice of parts. @param chosen names; empty: all. */
export function Parts(props: {
  readonly among: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (parts: readonly string[]) => void;
}) {
  const { among, chosen, onChange } = props;
  const isChosen = (part: string): boolean => chosen.length === 0 || chosen.includes(part);
  const toggle = (part: string): void => {
    const next = among.filter((each) => (each === part ? !isChosen(each) : isChosen(each)));
    // At least one part is chosen.
    if (next.length > 0) onChange(next.length === among.length ? [] : next);
  };
  return (
    <fieldset class="marks">
      <legend class="label">{t("backup.parts")}</legend>
      {among.map((part) => (
        <label key={part} class="check">
          <input type="checkbox" checked={isChosen(part)} onChange={() => toggle(part)} />
          <span>{partName(part)}</span>
        </label>
      ))}
    </fieldset>
  );
}
