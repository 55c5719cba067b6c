import type { JSX } from "preact";
import type { Setting } from "../../../../gen/mooring/v1/setting_pb.js";
import {
  Choice,
  Colour,
  common,
  type EditorProps,
  Line,
  NumberField,
  Switch,
  Text,
} from "./fields.tsx";
import "../../components/field.css";
import "./editor.css";
import { useRef, useState } from "preact/hooks";
import { settingService } from "../../api/client.ts";
import { Button, Icon } from "../../components/button.tsx";
import { type Mistake, mistakeOf } from "../../components/json-mistake.ts";
import { useAction } from "../../components/use-action.ts";
import { t } from "../../i18n/language.ts";
import { discard, edits } from "../edit.ts";

type Editor = (props: EditorProps) => JSX.Element;

const BY_FORMAT: Readonly<Record<string, Editor>> = {
  buckets: Json,
  color: Colour,
  json_object: Json,
  link_lines: Text,
  list: List,
  path_lines: Text,
  port_map: Text,
  previews: Json,
  re2_lines: Text,
  regex_lines: Text,
  string_map: Json,
};

const BY_TYPE: Readonly<Record<string, Editor>> = {
  bool: Switch,
  number: NumberField,
  select: Choice,
  text: Text,
};

/** Editor of a setting, by its format or else its type. */
export function editorOf({ secret, format, type, options }: Setting): Editor {
  if (secret) return Secret;
  // A select without options accepts any text: its options are data of each site.
  if (type === "select" && options === "") return Line;
  return BY_FORMAT[format] ?? BY_TYPE[type] ?? Line;
}

/** Reports whether an editor has several lines and takes the full width. */
export function isWide(setting: Setting): boolean {
  return [Json, List, Text].includes(editorOf(setting));
}

/** Editor for JSON, with the position of the first syntax error. */
function Json(props: EditorProps) {
  const { value, fixed, onChange } = props;
  const area = useRef<HTMLTextAreaElement>(null);
  const mistake = value.trim() === "" ? undefined : mistakeOf(value);
  const show = ({ at }: Mistake): void => {
    area.current?.focus();
    area.current?.setSelectionRange(at, at + 1);
  };
  const pretty = mistake === undefined ? formatted(value) : value;
  return (
    <div>
      <textarea
        {...common(props)}
        ref={area}
        class="input mono"
        rows={3}
        value={value}
        aria-invalid={props.invalid || mistake !== undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {mistake && (
        <p class="wrong" role="status">
          <Icon name="warning" />
          <button type="button" class="place" onClick={() => show(mistake)}>
            {t("json.mistake", { line: mistake.line, column: mistake.column })}
          </button>
        </p>
      )}
      {!fixed && pretty !== value && (
        <Button kind="bare" onClick={() => onChange(pretty)}>
          {t("json.format")}
        </Button>
      )}
    </div>
  );
}

function formatted(value: string): string {
  return value.trim() === "" ? value : JSON.stringify(JSON.parse(value), null, 2);
}

/**
 * Editor for names separated by commas. Each can be removed; new ones are typed or pasted at the
 * end.
 */
function List({ id, value, describedBy, invalid, fixed, onChange }: EditorProps) {
  const field = useRef<HTMLInputElement>(null);
  const names = split(value);
  const set = (next: readonly string[]): void => onChange([...new Set(next)].join(","));
  const add = (text: string): void => set([...names, ...split(text)]);
  const remove = (name: string): void => {
    set(names.filter((other) => other !== name));
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLInputElement }): void => {
    // The key belongs to an active input method.
    if (event.isComposing) return;
    const input = event.currentTarget;
    if (event.key === "Enter" && input.value !== "") {
      event.preventDefault();
      take(input);
    }
    if (event.key === "Backspace" && input.value === "" && names.length > 0)
      set(names.slice(0, -1));
  };
  const take = (input: HTMLInputElement): void => {
    if (input.value.trim() === "") return;
    add(input.value);
    input.value = "";
  };
  return (
    <div class="names input">
      <ul>
        {names.map((name) => (
          <li key={name}>
            <code>{name}</code>
            {!fixed && (
              <button
                type="button"
                aria-label={t("list.remove", { name })}
                onClick={() => remove(name)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
        <li class="more">
          <input
            id={id}
            ref={field}
            class="mono"
            readOnly={fixed}
            aria-describedby={describedBy}
            aria-invalid={invalid}
            autocomplete="off"
            spellcheck={false}
            placeholder={fixed ? "" : t("list.add")}
            onKeyDown={onKeyDown}
            onBlur={(event) => take(event.currentTarget)}
            onInput={(event) => {
              if (event.currentTarget.value.includes(",")) take(event.currentTarget);
            }}
          />
        </li>
      </ul>
    </div>
  );
}

function split(text: string): string[] {
  return text
    .split(/[,\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/**
 * Editor for a password, token or key. The page requests the value only to show it. Typed text
 * replaces it.
 */
function Secret(props: EditorProps) {
  const { setting, fixed, revealable, onChange } = props;
  const [shown, setShown] = useState<string>();
  const { problem, run } = useAction();
  const edit = edits.value.get(setting.key);
  const isSet = setting.value !== "";
  const reveal = () =>
    run(async ({ gone: signal }) => {
      const read = await settingService.getSetting({ key: setting.key }, { signal });
      setShown(read.setting?.value ?? "");
    });
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
      {problem !== "" && (
        <p class="wrong" role="alert">
          {problem}
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
