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

/** Change as it is shown: of a setting, or of a mount with its items. */
export type ShownChange = Pick<
  SettingChange,
  "key" | "kind" | "oldValue" | "newValue" | "secret"
> & {
  readonly items?: readonly ItemChange[];
};

/**
 * List of changes, one item per setting or mount.
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
        const mount = mountOf(change.key);
        return (
          <li key={change.key}>
            <div class="change-head">
              <strong>{mount ?? labelOf(change)}</strong>
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
            {mount === undefined ? <Values of={change} /> : <Items of={change.items ?? []} />}
          </li>
        );
      })}
    </ul>
  );
}

/** Changed items of a mount, one below the other. */
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

/** Name of the mount with a key of the history; undefined: it is the key of a setting. */
function mountOf(key: string): string | undefined {
  return key.startsWith("mount:") ? key.slice("mount:".length) : undefined;
}

/** Key of the history, with a link to its setting or mount if the token may read it. */
export function RecordLink({ of }: { readonly of: string }) {
  const name = mountOf(of);
  if (name === undefined) return <SettingLink of={of} />;
  const key = <code>{of}</code>;
  return may("mounts:read") ? <a href={href("mount", { name })}>{key}</a> : key;
}

/** Key of a setting, with a link to it if the token may read it. */
export function SettingLink({ of }: { readonly of: string }) {
  const key = <code>{of}</code>;
  return may("settings:read") ? <a href={href("settings", { key: of })}>{key}</a> : key;
}
