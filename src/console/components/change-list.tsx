import { ChangeKind, type SettingChange } from "../../../gen/mooring/v1/setting_pb.js";
import { t } from "../i18n/language.ts";
import { labelOf } from "../settings/label.ts";
import { Button } from "./button.tsx";
import { TextDiff } from "./text-diff.tsx";
import "./change-list.css";
import { may } from "../api/rights.ts";
import { href } from "../shell/location.ts";

const KINDS = {
  [ChangeKind.ADDED]: "change.added",
  [ChangeKind.DELETED]: "change.deleted",
} as const;

/** List of changes, one item per setting. @param undo if given, each item has an undo button. */
export function ChangeList(props: {
  readonly changes: readonly SettingChange[];
  readonly undo?: (key: string) => void;
}) {
  const { changes, undo } = props;
  if (changes.length === 0) return <p class="no-change quiet">{t("change.none")}</p>;
  return (
    <ul class="changes">
      {changes.map((change) => {
        const kind = KINDS[change.kind as keyof typeof KINDS];
        return (
          <li key={change.key}>
            <div class="change-head">
              <strong>{labelOf(change)}</strong>
              <SettingLink of={change.key} />
              {kind && <span class="badge">{t(kind)}</span>}
              {undo && (
                <Button
                  kind="bare"
                  icon="close"
                  aria-label={t("change.undo", { key: change.key })}
                  onClick={() => undo(change.key)}
                />
              )}
            </div>
            <Values change={change} />
          </li>
        );
      })}
    </ul>
  );
}

function Values({ change }: { readonly change: SettingChange }) {
  const { oldValue, newValue, secret } = change;
  if (!secret) return <TextDiff from={oldValue} to={newValue} />;
  const word = oldValue ? "change.secretChanged" : "change.secretSet";
  return <p class="quiet">{t(newValue ? word : "change.secretCleared")}</p>;
}

/** Key of a setting, with a link to it if the token may read it. */
export function SettingLink({ of }: { readonly of: string }) {
  const key = <code>{of}</code>;
  return may("settings:read") ? <a href={href("settings", { key: of })}>{key}</a> : key;
}
