import type { ItemChange } from "../../../gen/mooring/v1/history_pb.js";
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

/** Change as it is shown: of a setting, or of a mount or folder rule with its items. */
export type ShownChange = Pick<
  SettingChange,
  "key" | "kind" | "oldValue" | "newValue" | "secret"
> & {
  readonly items?: readonly ItemChange[];
};

/**
 * List of changes, one item per setting, mount or folder rule.
 *
 * @param undo if given, each item has an undo button.
 */
export function ChangeList(props: {
  readonly changes: readonly ShownChange[];
  readonly undo?: (key: string) => void;
}) {
  const { changes, undo } = props;
  if (changes.length === 0) return <p class="no-change quiet">{t("change.none")}</p>;
  return (
    <ul class="changes">
      {changes.map((change) => {
        const kind = KINDS[change.kind as keyof typeof KINDS];
        const record = recordOf(change.key);
        return (
          <li key={change.key}>
            <div class="change-head">
              <strong>{record?.name ?? labelOf(change)}</strong>
              <RecordLink of={change.key} />
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
            {record === undefined ? <Values of={change} /> : <Items of={change.items ?? []} />}
          </li>
        );
      })}
    </ul>
  );
}

/** Changed items of a mount or folder rule, one below the other. */
function Items({ of }: { readonly of: readonly ItemChange[] }) {
  return (
    <dl class="change-items">
      {of.map((item) => (
        <div key={item.name}>
          <dt>
            <code>{item.name}</code>
          </dt>
          <dd>
            <Values of={item} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Values({ of }: { readonly of: Pick<ItemChange, "oldValue" | "newValue" | "secret"> }) {
  const { oldValue, newValue, secret } = of;
  if (!secret) return <TextDiff from={oldValue} to={newValue} />;
  const word = oldValue ? "change.secretChanged" : "change.secretSet";
  return <p class="quiet">{t(newValue ? word : "change.secretCleared")}</p>;
}

/** Mount or folder rule with a key of the history; undefined: it is the key of a setting. */
function recordOf(
  key: string,
): { readonly name: string; readonly address: string | undefined } | undefined {
  const [, kind, name = ""] = /^(mount|rule):(.*)$/s.exec(key) ?? [];
  if (kind === "mount")
    return { name, address: may("mounts:read") ? href("mount", { name }) : undefined };
  if (kind === "rule")
    return { name, address: may("rules:read") ? href("rule", { path: name }) : undefined };
  return undefined;
}

/** Key of the history, with a link to its setting or record if the token may read it. */
export function RecordLink({ of }: { readonly of: string }) {
  const record = recordOf(of);
  if (record === undefined) return <SettingLink of={of} />;
  const key = <code>{of}</code>;
  return record.address === undefined ? key : <a href={record.address}>{key}</a>;
}

/** Key of a setting, with a link to it if the token may read it. */
export function SettingLink({ of }: { readonly of: string }) {
  const key = <code>{of}</code>;
  return may("settings:read") ? <a href={href("settings", { key: of })}>{key}</a> : key;
}
