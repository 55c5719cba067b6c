import { useComputed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "../api/client.ts";
import { asOwn } from "../api/live.ts";
import { loadMaker, makers } from "../api/revision.ts";
import { may, rights } from "../api/rights.ts";
import { Button, Icon } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Around, When, Words } from "../components/text.tsx";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { ConflictBox } from "./conflict.tsx";
import { conflicts, discard, edit, edits, violations } from "./edit.ts";
import { editorOf, isWide } from "./editor/editor.tsx";
import { isPublic } from "./find.ts";
import { aboutOf, isCustom, labelOf } from "./label.ts";
import { ResetToken } from "./reset-token.tsx";
import "./row.css";

/** Key of the permanent token's setting, which the service replaces; it is never typed. */
const TOKEN = "token";

/** One setting: description, editor, default, and last change. */
export function Row({ setting }: { readonly setting: Setting }) {
  const { key, managed, secret, flag } = setting;
  const about = aboutOf(setting);
  const mine = useComputed(() => edits.value.get(key)?.mine).value;
  const wrong = useComputed(() => violations.value.get(key)).value;
  const conflict = useComputed(() => conflicts.value.find((one) => one.key === key)).value;
  const Editor = editorOf(setting);
  const value = mine ?? setting.value;
  const id = `setting-${key}`;
  const fixed = managed || flag === 2 || key === TOKEN || !may("settings:write");
  return (
    <li
      class={["setting", mine === undefined ? "" : "edited", isWide(setting) ? "wide" : ""].join(
        " ",
      )}
      data-key={key}
    >
      <div class="about">
        <label for={id}>{labelOf(setting)}</label> <code class="key">{key}</code>
        <Badges setting={setting} edited={mine !== undefined} />
        {about !== "" && (
          <p class="help" id={`${id}-help`}>
            <Words text={about} />
          </p>
        )}
      </div>
      <div class="value">
        <Editor
          setting={setting}
          value={value}
          id={id}
          describedBy={`${id}-help ${id}-wrong`}
          invalid={wrong !== undefined}
          fixed={fixed}
          revealable={may("settings:reveal") && (key !== TOKEN || mayHaveToken())}
          onChange={(next) => edit(setting, next)}
        />
        {key === TOKEN && may("root") && <ResetToken />}
        <p class="wrong" id={`${id}-wrong`} role="status">
          {wrong !== undefined && <Icon name="warning" />}
          {wrong}
        </p>
        {conflict && <ConflictBox conflict={conflict} />}
        <div class="state small">
          {!secret && value !== setting.default && !fixed && (
            <Button kind="bare" icon="reset" onClick={() => edit(setting, setting.default)}>
              {t("row.reset", { value: shortly(setting.default) })}
            </Button>
          )}
          {mine !== undefined && (
            <Button kind="bare" onClick={() => discard([key])}>
              {t("row.undo")}
            </Button>
          )}
          {isDeletable(setting) && <DeleteSetting setting={setting} />}
          {setting.revision === 0n ? (
            <span class="quiet">{t("row.default")}</span>
          ) : (
            <LastChange of={key} revision={setting.revision} />
          )}
        </div>
      </div>
    </li>
  );
}

/** Only deprecated settings can be deleted, and only custom ones can be made so. */
function isDeletable(setting: Setting): boolean {
  if (setting.managed || !may("settings:delete")) return false;
  return setting.flag === DEPRECATED || (isCustom(setting) && may("settings:write"));
}

/**
 * Reports whether the permanent token may be shown: only to itself. An admin of the upstream sees
 * the upstream's token.
 */
function mayHaveToken(): boolean {
  return may("root") || rights.value?.isVisitor === true;
}

function Badges({ setting, edited }: { readonly setting: Setting; readonly edited: boolean }) {
  const { managed, secret, flag } = setting;
  const marks = [
    edited && { name: t("mark.edited"), kind: "edited" },
    managed && { name: t("mark.managed"), kind: "" },
    secret && { name: t("mark.secret"), kind: "" },
    flag === 2 && { name: t("mark.readonly"), kind: "" },
    flag === DEPRECATED && { name: t("mark.deprecated"), kind: "" },
    isCustom(setting) && { name: t("mark.custom"), kind: "" },
    isPublic(setting) && { name: t("mark.public"), kind: "" },
  ].filter((mark) => mark !== false);
  if (marks.length === 0) return null;
  return (
    <span class="badges">
      {marks.map(({ name, kind }) => (
        <span key={name} class={`badge ${kind}`}>
          {name}
        </span>
      ))}
    </span>
  );
}

/** Shortened value. */
function shortly(value: string): string {
  const LONGEST = 24;
  if (value === "") return t("value.empty");
  const [line = ""] = value.split("\n", 1);
  return line.length > LONGEST || line !== value ? `${line.slice(0, LONGEST)}…` : line;
}

/** Actor and time of a setting's last change, with a link to its history. */
function LastChange({ of, revision }: { readonly of: string; readonly revision: bigint }) {
  useEffect(() => void loadMaker(revision), [revision]);
  const maker = makers.value.get(revision);
  const nth = t("row.revision", { revision: String(revision) });
  if (!may("history:read")) return <span class="quiet">{nth}</span>;
  return (
    <a class="quiet" href={href("history", { key: of })}>
      {maker && (
        <>
          <Around text={t("row.changed", { actor: maker.actor })}>
            <When time={maker.time} />
          </Around>
          {" · "}
        </>
      )}
      {nth}
    </a>
  );
}

/** Flag of settings that may be deleted (contract, section 2.4). */
const DEPRECATED = 3;

/** Deletes a custom or deprecated setting after a confirmation. */
function DeleteSetting({ setting }: { readonly setting: Setting }) {
  const { key } = setting;
  const [asked, ask] = useState(false);
  const remove = async (): Promise<void> => {
    discard([key]);
    await asOwn(settingService.deleteSetting({ key, expectedEtag: await retire(setting) }));
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

/** Makes a setting deprecated, because only these can be deleted. @returns its etag then. */
async function retire({ key, flag, etag }: Setting): Promise<string> {
  if (flag === DEPRECATED) return etag;
  // Keeps the current value, which the page does not have for a secret.
  const { setting } = await settingService.getSetting({ key });
  const input = { key, value: setting?.value ?? "", flag: DEPRECATED, expectedEtag: etag };
  await asOwn(settingService.saveSettings({ settings: [input] }));
  const retired = await settingService.getSetting({ key, maskSecrets: true });
  return retired.setting?.etag ?? "";
}
